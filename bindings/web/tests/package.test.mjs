// Tests of the package in Node.js, for node --test. HEWN_WEB has the package's folder, and
// HEWN_DATA the folder with the conformance cases.
import assert from 'node:assert/strict';
import {readFileSync, readdirSync} from 'node:fs';
import test from 'node:test';
import {pathToFileURL} from 'node:url';

const at = name => import(new URL(name, pathToFileURL(process.env.HEWN_WEB + '/')));
const {HewnError, alongAxis, arrayOf, broadcast, load, repeated} = await at('hewn.mjs');
const {broadcastShape, opSupportLimits, quantizeLinear} = await at('webnn.mjs');
const {SMALL, fromBf16, fromF16, toBf16, toF16, verify} = await at('verify.mjs');
const {SMALL_FLOATS} = await at('small_floats.mjs');
const {runCases} = await at('tests/conformance.mjs');
const {typeOf} = await at('tests/reference.mjs');
const hewn = await load();
const f32 = (...shape) => ({dataType: 'float32', shape});
const u8 = (...shape) => ({dataType: 'uint8', shape});

// An operator's output for these values.
function outputOf(name, descs, values, options) {
    const tensors = {};
    for (const key of Object.keys(descs)) tensors[key] = hewn.tensor(descs[key], values[key]);
    hewn.compile(name, descs, options).run(tensors);
    return [...tensors.output.data];
}

test('the formula, ties to even and saturation', () => {
    const shape = [6], descs = {input: f32(6), scale: repeated('float32', shape), output: u8(6)};
    const input = [0.25, 0.75, 1.25, -3, 1000, NaN];
    const output = outputOf('quantizeLinear', descs, {input, scale: [0.5]});
    assert.deepEqual(output, [0, 2, 2, 0, 255, 0]);
});

test('a scale for each index, for each block, of a short last block', () => {
    const along = {input: f32(2, 2), scale: alongAxis('float32', [2, 2], 1), output: u8(2, 2)};
    const values = {input: [1, 1, 2, 2], scale: [1, 0.5]};
    assert.deepEqual(outputOf('quantizeLinear', along, values), [1, 2, 2, 4]);
    const blocks = {input: f32(5), scale: {...f32(5), blockSizes: [2]}, output: u8(5)};
    const blocked = {input: [1, 1, 1, 1, 1], scale: [1, 0.5, 0.25]};
    assert.deepEqual(outputOf('quantizeLinear', blocks, blocked), [1, 1, 2, 2, 4]);
});

test('attributes', () => {
    const shape = [2], descs = {input: f32(2), scale: repeated('float32', shape), output: u8(2)};
    const values = {input: [0.25, 0.449951171875], scale: [0.0999755859375]};
    const quantized = attributes => outputOf('quantizeLinear', descs, values, {attributes});
    assert.deepEqual(hewn.operators.quantizeLinear.attributes,
        [{name: 'precision', values: ['float32', 'float16', 'bfloat16'], refused: [], of: []},
            {name: 'saturate', values: [true, false], refused: [], of: []}]);
    assert.deepEqual(hewn.operators.add.attributes, []);
    assert.deepEqual(quantized({}), [3, 5]);
    assert.deepEqual(quantized({precision: 'float32'}), [3, 5]);
    assert.deepEqual(quantized({precision: 'float16'}), [2, 4]);
    assert.throws(() => quantized({precision: 'float64'}),
        {message: "precision: 'float64' is none of float32,float16,bfloat16"});
    assert.throws(() => quantized({saturate: 1}), {message: 'saturate: 1 is none of true,false'});
    assert.throws(() => quantized({round: 1}), {message: /^quantizeLinear has no round/});
});

test('floats of 8 bits are their codes', () => {
    const shape = [6], values = {input: [1, -0.75, 1e9, -Infinity, NaN, 0], scale: [0.5]};
    const scale = repeated('float32', shape), descs = dataType => ({input: f32(6), scale,
        output: {dataType, shape}});
    const quantized = (dataType, attributes) =>
        outputOf('quantizeLinear', descs(dataType), values, {attributes});
    assert.deepEqual(quantized('float8e4m3fn'), [0x40, 0xbc, 0x7e, 0xfe, 0x7f, 0]);
    assert.deepEqual(quantized('float8e5m2', {saturate: true}), [0x40, 0xbe, 0x7b, 0xfb, 0x7e, 0]);
    assert.deepEqual(quantized('float8e5m2', {saturate: false}), [0x40, 0xbe, 0x7c, 0xfc, 0x7e, 0]);
    assert.deepEqual(quantized('float8e5m2fnuz', {saturate: false}), [0x44, 0xc2, 0x80, 0x80, 0x80, 0]);
    // 0x10 0x2c 0x1f 0x3f 0x1f 0: four elements of 6 bits share three bytes.
    assert.deepEqual(quantized('float6e2m3'), [0x10, 0xfb, 0xfd, 0x1f, 0]);
    assert.deepEqual(quantized('float4e2m1'), [0xb4, 0xf7, 0x07]);
    const scales = {...descs('uint8'), scale: repeated('float8e8m0', shape)};
    const bytes = {input: values.input, scale: [126]};
    assert.deepEqual(outputOf('quantizeLinear', scales, bytes),
        outputOf('quantizeLinear', descs('uint8'), values));
    const q = {dataType: 'float8e4m3fn', shape: [3]};
    for (const codes of [[0x40, 0xbc, 1], Uint8Array.of(0x40, 0xbc, 1)])
        assert.deepEqual([...hewn.tensor(q, codes).data], [0x40, 0xbc, 1]);
    const back = {input: q, scale: repeated('float32', [3]), output: f32(3)};
    assert.deepEqual(outputOf('dequantizeLinear', back, {input: [0x40, 0xbc, 1], scale: [0.5]}),
        [1, -0.75, 2 ** -10]);
    assert.throws(() => hewn.tensor({dataType: 'float6e3m2', shape: [3]}, [1, 2]),
        {message: '2 values for 3 bytes, which are float6e3m2s'});
});

test('small floats by verify.mjs and by reference.mjs', () => {
    for (const [name, {bits}] of Object.entries(SMALL_FLOATS)) {
        const [number, code] = SMALL[name], {decode, encode} = typeOf(name);
        const numbers = Array.from({length: 2 ** bits}, (_, i) => number(i));
        numbers.forEach((value, i) => assert.ok(Object.is(value, decode(i)), `${name}: ${i}`));
        if (name === 'float8e8m0') continue;  // is never written
        const finite = numbers.filter(Number.isFinite).sort((a, b) => a - b);
        const middles = finite.map((value, i) => (value + (finite[i + 1] ?? value + 1)) / 2);
        const near = [...finite, ...middles].flatMap(value => [value, value * (1 + 2 ** -50), -value]);
        for (const value of [...near, 1e30, -Infinity, NaN, -0, -1e-30])
            assert.equal(number(code(value)), decode(encode(value, true)), `${name}: ${value}`);
    }
});

test('an activation and its parameters', () => {
    const descs = {a: f32(4), b: repeated('float32', [4]), output: f32(4)};
    const values = {a: [-3, -0, 0.5, 9], b: [-0]};
    const activated = attributes => outputOf('add1', descs, values, {attributes});
    const [activation, alpha] = hewn.operators.add1.attributes;
    assert.deepEqual(activation.values.slice(0, 3), ['identity', 'linear', 'relu']);
    assert.ok(activation.refused.includes('sigmoid') && !activation.values.includes('sigmoid'));
    assert.deepEqual(alpha, {name: 'alpha', values: [], refused: [],
        of: ['linear', 'leaky_relu', 'thresholded_relu', 'hard_sigmoid']});
    assert.deepEqual(activated({}), [-3, -0, 0.5, 9]);
    assert.deepEqual(activated({activation: 'relu'}), [0, 0, 0.5, 9]);
    assert.deepEqual(activated({activation: 'leaky_relu', alpha: 0.5}), [-1.5, -0, 0.5, 9]);
    assert.deepEqual(activated({activation: 'clip', min: -1, max: Infinity}), [-1, -0, 0.5, 9]);
    const refused = (attributes, message) =>
        assert.throws(() => activated(attributes), {message});
    refused({activation: 'leaky_relu'}, 'alpha: is missing; activation leaky_relu needs it');
    refused({activation: 'leaky_relu', alpha: '1'}, "alpha: '1' is no number");
    refused({activation: 'leaky_relu', alpha: NaN}, 'ADD1: alpha is NaN, must be a number');
    refused({activation: 'relu', alpha: 1},
        'ADD1: alpha is not 0, but activation RELU does not have it');
    refused({activation: 'sigmoid'}, /^ADD1: activation SIGMOID is not supported, because /);
    refused({activation: 'relu7'}, /^activation: 'relu7' is none of identity,linear,/);
});

test('sub-byte types are bytes, the first element in the lowest bits', () => {
    const shape = [3], scale = repeated('float32', shape), values = {input: [1, -2, 9], scale: [1]};
    const descs = {input: f32(3), scale, output: {dataType: 'int4', shape}};
    assert.deepEqual(outputOf('quantizeLinear', descs, values), [0xe1, 0x07]);
});

test('constants are read by compile', () => {
    const scale = hewn.tensor(repeated('float32', [2]), [0.5]), input = hewn.tensor(f32(2), [1, 2]);
    const output = hewn.tensor(u8(2));
    const operator = hewn.compile('quantizeLinear', {input, scale, output}, {constants: {scale}});
    scale.destroy();
    operator.run({input, output});
    assert.deepEqual([...output.data], [2, 4]);
    assert.throws(() => operator.run({input, scale: input, output}), /ScaleTensor: has a binding/);
});

test('views outlive no growth, operators and tensors do', () => {
    const descs = {a: f32(4), b: f32(4), output: f32(4)};
    const a = hewn.tensor(f32(4), [1, 2, 3, 4]), output = hewn.tensor(f32(4));
    const operator = hewn.compile('add', descs), view = a.data;
    const large = hewn.tensor(u8(64 << 20));
    assert.equal(view.length, 0);
    operator.run({a, b: a, output});
    assert.deepEqual([...output.data], [2, 4, 6, 8]);
    large.destroy();
});

test('what is refused', () => {
    const refused = (message, call) => assert.throws(call, {message});
    const compile = (descs, options) => () => hewn.compile('add', descs, options);
    const three = {a: f32(2), b: f32(2), output: f32(2)};
    refused(/^'adds' is no operator$/, () => hewn.compile('adds', three));
    refused(/^add has no c: a,b,output$/, compile({...three, c: f32(2)}));
    refused(/^'float' is no data type$/, compile({...three, a: {dataType: 'float', shape: [2]}}));
    refused(/^a: shape: 1.5 is no whole number$/, compile({...three, a: f32(1.5)}));
    refused(/ differ in length$/, compile({...three, a: {...f32(2), strides: [1, 1]}}));
    refused(/ has no d: a,b$/, compile(three, {constants: {d: hewn.tensor(f32(2))}}));
    refused(/no memory for 8589934592 bytes$/, () => hewn.tensor(f32(2 ** 31)));
    refused(/^3 values for 2 elements$/, () => hewn.tensor(f32(2), [1, 2, 3]));
    const status = (number, call) => assert.throws(call, error =>
        error instanceof HewnError && error.status === number);
    status(1, compile({...three, b: f32(3)}));
    status(4, compile(three, {variant: 'x86_64_avx2'}));
    const operator = hewn.compile('add', three), a = hewn.tensor(f32(2));
    status(3, () => operator.run({a, b: a}));
    status(3, () => operator.run({a, b: hewn.tensor(f32(1)), output: a}));
    a.destroy();
    status(3, () => operator.run({a, b: a, output: a}));
    operator.destroy();
    status(1, () => operator.run({a, b: a, output: a}));
});

test('what is destroyed is refused, and nothing is written', () => {
    const a = hewn.tensor(f32(2), [1, 2]), output = hewn.tensor(f32(2), [5, 6]);
    const operator = hewn.compile('add', {a, b: a, output}), gone = hewn.tensor(f32(2));
    gone.destroy();
    gone.destroy();
    const refused = (what, call) => assert.throws(call, error => error instanceof HewnError &&
        error.status === 3 && error.message === `${what}: the tensor was destroyed`);
    const low = new Uint8Array(hewn.memory.buffer, 0, 4096), before = low.slice();
    refused('set()', () => gone.set([1, 2]));
    refused('data', () => gone.data);
    refused('bytes', () => gone.bytes);
    refused('b', () => operator.run({a, b: gone, output}));
    refused('output', () => operator.run({a, b: a, output: gone}));
    refused('b', () => hewn.compile('add', {a, b: a, output}, {constants: {b: gone}}));
    operator.destroy();
    assert.throws(() => operator.run({a, b: a, output}),
        {name: 'HewnError', status: 1, message: 'add: the operator was destroyed'});
    assert.deepEqual(low, before);
    assert.deepEqual([...output.data], [5, 6]);
    // A getter may destroy what was read before it.
    const other = hewn.compile('add', {a, b: a, output}), late = hewn.tensor(f32(2));
    const sly = {a: late, get b() { late.destroy(); return a; }, output};
    refused('a', () => other.run(sly));
    const slier = {a, get b() { other.destroy(); return a; }, output};
    assert.throws(() => other.run(slier), {message: 'add: the operator was destroyed'});
    assert.deepEqual([...output.data], [5, 6]);
});

test('only tensors of the module are bound', async () => {
    const values = new Float32Array([1, 2]), a = hewn.tensor(f32(2), values);
    const descs = {a, b: a, output: a}, operator = hewn.compile('add', descs);
    const other = (await load()).tensor(f32(2), values);
    const wrong = {Float32Array: values, Array: [1, 2], Object: {...a, pointer: 8}};
    for (const [name, given] of [...Object.entries(wrong), ['0', 0], ['false', false]]) {
        const message = new RegExp(`^b: (an? )?${name}, expected a Tensor of hewn.tensor\\(\\)$`);
        const expected = {name: 'TypeError', message};
        assert.throws(() => hewn.compile('add', descs, {constants: {b: given}}), expected);
        assert.throws(() => operator.run({a, b: given, output: a}), expected);
    }
    const foreign = {name: 'TypeError', message: /^b: a Tensor of another module/};
    assert.throws(() => hewn.compile('add', descs, {constants: {b: other}}), foreign);
    assert.throws(() => operator.run({a, b: other, output: a}), foreign);
    assert.throws(() => operator.run({a, b: a, output: a, c: a}), /^TypeError: add has no c/);
    assert.throws(() => hewn.compile('add', descs, {constant: {b: a}}),
        /^TypeError: compile\(\) has no constant/);
});

test('float16: numbers are numbers and a Uint16Array bits, in every engine', () => {
    const f16 = {dataType: 'float16', shape: [4]}, numbers = [1.5, -2, 65519, 2 ** -25 * 1.001];
    const bits = [0x3e00, 0xc000, 0x7bff, 0x0001];
    const bitsOf = tensor => [...new Uint16Array(tensor.bytes.buffer, tensor.bytes.byteOffset, 4)];
    for (const given of [numbers, Float64Array.from(numbers), Uint16Array.from(bits)])
        assert.deepEqual(bitsOf(hewn.tensor(f16, given)), bits);
    if (globalThis.Float16Array)
        assert.deepEqual(bitsOf(hewn.tensor(f16, Float16Array.from(numbers))), bits);
    assert.deepEqual(bitsOf(hewn.tensor(f16, hewn.tensor(f16, numbers).data)), bits);
    assert.deepEqual(bitsOf(hewn.tensor(f16, Int16Array.of(1, 2, 3, 4))),
        [0x3c00, 0x4000, 0x4200, 0x4400]);
});

test('wrong values write nothing and keep no memory', () => {
    const i64 = {dataType: 'int64', shape: [3]}, tensor = hewn.tensor(i64, [1n, 2n, 3n]);
    for (const wrong of [[7n, 8n, 9], [7n, 8n], Float32Array.of(7, 8, 9), '789', 3, null,
        {length: 2 ** 40}, new Set([7n, 8n, 9n]), new DataView(new ArrayBuffer(24))])
        assert.throws(() => tensor.set(wrong), TypeError);
    assert.deepEqual([...tensor.data], [1n, 2n, 3n]);
    assert.throws(() => hewn.tensor({dataType: 'int4', shape: [3]}, [1, 2, 3]),
        {message: '3 values for 2 bytes, which are int4s'});
    const before = hewn.memory.buffer.byteLength;
    for (let i = 0; i < 100; i++) assert.throws(() => hewn.tensor(f32(1 << 20), [1]), TypeError);
    assert.equal(hewn.memory.buffer.byteLength, before);
});

test('a description is read once', () => {
    const shape = [2], tensor = hewn.tensor({dataType: 'float32', shape}, [1, 2]);
    shape[0] = 1000;
    assert.deepEqual(tensor.shape, [2]);
    let reads = 0;
    const growing = {dataType: 'float32', get shape() { return [reads++ ? 1 << 20 : 2]; }};
    assert.deepEqual(hewn.tensor(growing).shape, [2]);
    const sparse = [, 2];
    for (const wrong of [sparse, Int32Array.of(2), '2', undefined, 2, [2n], [-0.5]])
        assert.throws(() => hewn.tensor({dataType: 'float32', shape: wrong}), TypeError);
    for (const axis of [-1, 2, undefined, 0.5])
        assert.throws(() => alongAxis('float32', [2, 3], axis), /^TypeError: axis .*: the shape/);
    assert.throws(() => hewn.compile('constructor', {}), /^TypeError: 'constructor' is no operator/);
    const descs = {a: f32(2), b: f32(2), output: f32(2)};
    for (const variant of ['wasm32_simd128\0', 5, null])
        assert.throws(() => hewn.compile('add', descs, {variant}), /^TypeError: variant: /);
});

test('destroyed memory is used again', () => {
    const once = () => {
        const x = hewn.tensor(f32(1 << 20));
        const operator = hewn.compile('add', {a: x, b: x, output: x});
        operator.run({a: x, b: x, output: x});
        operator.destroy();
        x.destroy();
    };
    once();
    const before = hewn.memory.buffer.byteLength;
    for (let i = 0; i < 100; i++) once();
    assert.equal(hewn.memory.buffer.byteLength, before);
});

test('descriptions', () => {
    assert.deepEqual(broadcast(f32(3, 1), [2, 3, 4]).strides, [0, 1, 0]);
    assert.throws(() => broadcast(f32(3), [2]), TypeError);
    assert.deepEqual(broadcastShape([2, 1], [5, 1, 3]), [5, 2, 3]);
    assert.equal(arrayOf('int64'), BigInt64Array);
    assert.throws(() => quantizeLinear(hewn, f32(4), f32(3), u8(3)), /not broadcast blockwise/);
    const {add, quantizeLinear: limits} = opSupportLimits(hewn);
    assert.deepEqual(limits.zeroPoint.dataTypes, limits.output.dataTypes);
    assert.deepEqual(add.a.rankRange, {min: 0, max: 8});
});

test('bfloat16: numbers are rounded once and a Uint16Array is bits', () => {
    const desc = {dataType: 'bfloat16', shape: [8]};
    // The second number lies between 1 and the next one. By way of f32 it would be a tie, which
    // rounds to 1.
    const numbers = [1.5, 1 + 2 ** -8 + 2 ** -40, 1 + 2 ** -8, 1 + 2 ** -7 + 2 ** -8 - 2 ** -40, -2, 3.4e38,
        -Infinity, 2 ** -133];
    const bits = [0x3fc0, 0x3f81, 0x3f80, 0x3f81, 0xc000, 0x7f80, 0xff80, 0x0001];
    for (const given of [numbers, Float64Array.from(numbers), Uint16Array.from(bits)])
        assert.deepEqual([...hewn.tensor(desc, given).data], bits);
    for (let word = 0; word < 65536; word++) {
        const value = fromBf16(word);
        assert.equal(toBf16(value), Number.isNaN(value) ? 0x7fc0 : word);
    }
});

test('f16 of JavaScript', () => {
    for (let bits = 0; bits < 65536; bits++) {
        const value = fromF16(bits);
        assert.equal(toF16(value), Number.isNaN(value) ? 0x7e00 : bits);
    }
    assert.equal(toF16(2049), 0x6800);  // ties to even
    assert.equal(toF16(65520), 0x7c00);
});

const data = name => readFileSync(`${process.env.HEWN_DATA}/${name}`, 'utf8');

test('conformance', () => {
    let tally;
    for (const name of readdirSync(process.env.HEWN_DATA).filter(name => name.endsWith('.jsonl')))
        tally = runCases(hewn, data(name), tally);
    assert.deepEqual(tally.failed, []);
    assert.ok(tally.passed > 100, `only ${tally.passed} passed`);
});

test('a case of a type that the package does not have is reported', () => {
    const tensor = {dtype: 'f99', shape: [1], data: [1]}, inputs = {ATensor: tensor, BTensor: tensor};
    const test = {id: 'case', op: 'ADD', inputs, output: tensor};
    assert.deepEqual(runCases(hewn, JSON.stringify(test)),
        {passed: 0, failed: ["case: refused: 'float99' is no data type"], skipped: {}});
});

test("WebNN's cases by webnn.mjs", () => {
    for (const name of ['wpt.jsonl', 'webnn-baseline.jsonl', 'sub_byte.jsonl']) {
        const cases = data(name).split('\n').filter(line => /^{"id":"(wpt|webnn)/.test(line));
        const {failed, passed} = runCases(hewn, cases.join('\n'), undefined, true);
        assert.deepEqual(failed, []);
        assert.ok(passed > 5, `only ${passed} of ${name} passed`);
    }
});

test('every kernel gives its formula', () => {
    const results = verify(hewn);
    assert.ok(results.length >= Object.keys(hewn.operators).length);
    assert.deepEqual(results.filter(({differing}) => differing), []);
});

// Checks that verify() notices operators whose result `change` changes.
function assertNoticed(change) {
    const {compile} = hewn;
    hewn.compile = (...given) => {
        const operator = compile.apply(hewn, given), run = operator.run.bind(operator);
        operator.run = tensors => {
            run(tensors);
            change(tensors.output.bytes);
        };
        return operator;
    };
    try {
        for (const {differing} of verify(hewn)) assert.ok(differing >= 1);
    } finally {
        delete hewn.compile;
    }
}

test('a kernel that is wrong is noticed', () => assertNoticed(bytes => { bytes[5] ^= 1; }));

// verify() must not use only zeros as inputs: most results would then be 0 as well.
test('a kernel that writes zeros is noticed', () => assertNoticed(bytes => bytes.fill(0)));
