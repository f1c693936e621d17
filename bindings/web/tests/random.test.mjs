// Random calls of the package. A seed and its number determine a call. Right calls must give the
// bytes of reference.mjs and change no others. Wrong calls may throw a HewnError or a TypeError and
// nothing else, and must write nothing.
//
// HEWN_SECONDS is how long all of it takes, 15 by default. HEWN_SEED chooses another sequence, and
// HEWN_CASE one case of it. (fast-check, which does more, is only on npm, which the project's
// machines cannot reach.)
import assert from 'node:assert/strict';
import test from 'node:test';
import {pathToFileURL} from 'node:url';

const at = name => import(new URL(name, pathToFileURL(process.env.HEWN_WEB + '/')));
const package_ = await at('hewn.mjs'), webnn = await at('webnn.mjs');
const {HewnError, alongAxis, arrayOf, broadcast, load, repeated} = package_;
const {count, expected, indices, offsetOf, typeOf} = await at('tests/reference.mjs');
const SECONDS = Number(process.env.HEWN_SECONDS ?? 15), SEED = Number(process.env.HEWN_SEED ?? 1);
const hewn = await load(), rows = Object.values(hewn.operators);

// ---- Chance ----

let state = 0;
function uint32() {  // mulberry32
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return (t ^ (t >>> 14)) >>> 0;
}
const below = n => uint32() % n;
const chance = percent => below(100) < percent;
const pick = list => list[below(list.length)];
const shuffled = list => list.map(value => [uint32(), value]).sort(([a], [b]) => a - b)
    .map(([, value]) => value);

// Runs `one` on case after case, and reports which case failed.
function sequence(what, one) {
    const only = process.env.HEWN_CASE, end = Date.now() + 500 * SECONDS;
    let cases = 0;
    for (let i = Number(only ?? 0); only ? cases < 1 : Date.now() < end; i++, cases++) {
        state = Math.imul(SEED, 0x9e3779b1) ^ Math.imul(i + 1, 0x85ebca6b);
        try {
            one();
        } catch (error) {
            error.message = `HEWN_SEED=${SEED} HEWN_CASE=${i}: ${error.message}`;
            throw error;
        }
    }
    console.log(`${what}: ${cases} cases from HEWN_SEED=${SEED}`);
    return cases;
}

// ---- Right calls ----

function randomShape() {
    const rank = pick([0, 1, 1, 2, 2, 2, 3, 3, 4, 4, 5, 6, 7, 8]), most = [0, 9, 9, 7, 5][rank] ?? 2;
    const shape = Array.from({length: rank}, () => (chance(2) ? 0 : 1 + below(most)));
    if (rank && rank < 4 && chance(40)) shape[rank - 1] = 1 + below([0, 300, 75, 33][rank]);
    return shape;
}

// Strides for these sizes: absent, or for dimensions in any order and perhaps with gaps.
function randomStrides(sizes) {
    if (chance(50)) return undefined;
    const strides = sizes.map(() => 0);
    let step = 1;
    for (const d of shuffled(sizes.map((_, d) => d))) {
        strides[d] = step;
        step = step * Math.max(sizes[d], 1) + (chance(30) ? below(4) : 0);
    }
    return strides;
}

const without = (strides, chosen) => strides.map((stride, d) => (chosen(d) ? 0 : stride));
const contiguous = sizes => sizes.map((_, d) => count(sizes.slice(d + 1)));

function dataDesc(dataType, shape, isOutput) {
    const strides = randomStrides(shape);
    if (isOutput || chance(70)) return strides ? {dataType, shape, strides} : {dataType, shape};
    return {dataType, shape, strides: without(strides ?? contiguous(shape), () => chance(40))};
}

function oneElementDesc(dataType, shape, isOutput) {
    if (!isOutput && chance(50)) return {dataType, shape, strides: shape.map(() => 0)};
    return {dataType, shape: shape.map(() => 1)};
}

// Block sizes that leave a short last block in at most one dimension, and in none if `whole` is
// set.
function randomBlocks(shape, whole) {
    let short = whole;
    return shape.map(size => {
        const block = chance(50) ? 1 : 1 + below(Math.max(size, 1));
        if (size % block === 0) return block;
        if (short) return 1;
        short = true;
        return block;
    });
}

// Blocks of a scale that is chosen: each index of a dimension, all of them, or some. Three dimensions
// at most have a short last block.
function chosenBlocks(shape) {
    let left = 3;
    return shape.map(size => {
        const block = chance(30) ? 1 : chance(50) ? Math.max(size, 1) : 1 + below(Math.max(size, 1));
        if (size % block === 0) return block;
        return left-- > 0 ? block : 1;
    });
}

// Blocks of a format: along one dimension.
function formatBlocks(shape) {
    const only = below(shape.length), [size, ones] = [Math.max(shape[only] ?? 1, 1), shape.map(() => 1)];
    if (shape.length) ones[only] = pick([1, size, 16, 32, 1 + below(size)]);
    return ones;
}

function parameterDesc(dataType, shape, blockSizes) {
    const sizes = shape.map((size, d) => Math.ceil(size / (blockSizes?.[d] ?? 1)));
    const strides = without(contiguous(sizes), () => chance(30));
    const desc = pick([{shape, strides}, {shape, strides}, {shape}, repeated(dataType, shape)]);
    return {...desc, dataType, ...(blockSizes ? {blockSizes} : {})};
}

// Types for all tensors of an operator, by name.
function randomTypes({name, tensors}) {
    const types = {};
    const resolve = i => {
        const {name: key, like, likeIntegers, types: allowed} = tensors[i];
        if (types[key]) return types[key];
        const of = like >= 0 ? resolve(like) : undefined;
        const given = of && likeIntegers && !typeOf(of).isFloat ? likeIntegers : of;
        return types[key] = given ?? pick(allowed);
    };
    tensors.forEach((_, i) => resolve(i));
    // Rules of docs/operators.md that are not in the operator table.
    const floats = ['float32', 'float16', 'bfloat16'];
    if (name === 'quantizeLinear') types.scale = pick([...floats, 'float8e8m0']);
    if (name === 'dequantizeLinear') types.output = pick(floats);
    if (name === 'quantizedLinearAdd') {
        const wide = typeOf(types.a).bits === 16;
        const same = dataType => (dataType.startsWith('u') ? 'uint' : 'int') + (wide ? 16 : 8);
        for (const key of ['b', 'output']) types[key] = same(types[key]);
        [types.bZeroPoint, types.outputZeroPoint] = [types.b, types.output];
    }
    return types;
}

function randomAttributes(row) {
    const attributes = {};
    let chosen;
    for (const {name, values, of} of row.attributes) {
        if (!of.length) {
            chosen = values[0];
            if (chance(80)) attributes[name] = chosen = pick(values);
        } else if (name === 'min_scale') {
            if (of.includes(chosen) && chance(50)) attributes[name] = pick([0, 0.01, 1e-40, 2]);
        } else if (of.includes(chosen)) {
            attributes[name] = pick([0.01, 0.5, 1, -1, -0, 0, 6, Infinity, -1e-40, below(4096) / 512 - 4]);
        }
    }
    return attributes;
}

// A problem of MX_QUANTIZE or NVFP4_QUANTIZE, whose tensor's scale is an input or an output.
function randomFormat(row, types, shape) {
    const descs = {
        input: dataDesc(types.input, shape, false), output: dataDesc(types.output, shape, true),
        outputScale: {dataType: types.outputScale, shape, blockSizes: formatBlocks(shape)},
    };
    const scale = types.tensorScale && pick(['tensorScale', 'outputTensorScale']);
    if (scale) descs[scale] = oneElementDesc(types[scale], shape, scale !== 'tensorScale');
    return {row, descs, attributes: randomAttributes(row)};
}

function randomChoice(row, types, shape) {
    const attributes = randomAttributes(row), blocks = chosenBlocks(shape);
    if (typeOf(types.output).isFloat) attributes.mode = 'symmetric';
    if (attributes.mode === 'full') delete attributes.min_scale;
    const descs = {
        input: dataDesc(types.input, shape, false), output: dataDesc(types.output, shape, true),
        outputScale: {dataType: types.outputScale, shape, blockSizes: blocks},
    };
    if ((attributes.mode ?? 'asymmetric') === 'asymmetric')
        descs.outputZeroPoint = {dataType: types.output, shape, blockSizes: blocks};
    return {row, descs, attributes};
}

function randomProblem() {
    const row = pick(rows), types = randomTypes(row), shape = randomShape(), descs = {};
    if (row.name === 'dynamicQuantize') return randomChoice(row, types, shape);
    if (/^(mx|nvfp4)Quantize$/.test(row.name)) return randomFormat(row, types, shape);
    const linear = /^(de)?quantizeLinear$|^(mx|nvfp4)Dequantize$/.test(row.name), pair = /^(de)?quantize$/.test(row.name);
    const blocks = (linear || pair) && chance(40) ? randomBlocks(shape, pair) : undefined;
    for (const {name, role, optional, oneElement} of row.tensors) {
        if (optional && chance(30)) continue;
        const dataType = types[name], isOutput = role === 'output';
        if (oneElement) descs[name] = oneElementDesc(dataType, shape, isOutput);
        else if (role === 'data' || isOutput) descs[name] = dataDesc(dataType, shape, isOutput);
        else descs[name] = parameterDesc(dataType, shape, blocks);
    }
    return {row, descs, attributes: randomAttributes(row)};
}

function fill({dataType, bytes, length}, role) {
    for (let i = 0; i < bytes.length; i++) bytes[i] = below(256);
    if (!typeOf(dataType).isFloat || dataType === 'float8e8m0' || chance(10)) return;
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length), type = typeOf(dataType);
    for (let i = 0; i < length; i++) {
        if (role === 'scale') type.write(view, i, 2 ** -below(10) * (1 + below(8) / 7));
        else if (chance(60)) type.write(view, i, (below(4096) - 2048) / pick([1, 2, 8, 7]));
    }
}

// Makes elements of an output equal where both are NaN.
function joinNaNs(desc, got, wanted) {
    const type = typeOf(desc.dataType);
    if (!type.isFloat) return;
    const views = [got, wanted].map(b => new DataView(b.buffer, b.byteOffset, b.length));
    for (const index of indices(desc.shape)) {
        const i = offsetOf(desc, index);
        if (views.every(view => Number.isNaN(type.read(view, i))))
            for (const view of views) type.write(view, i, NaN);
    }
}

function checkResults({row, descs, attributes}, tensors, before, now) {
    const wanted = expected(row, descs, before, attributes);
    for (const [name, tensor] of Object.entries(tensors)) {
        const got = tensor.bytes.slice(), due = wanted[name] ?? now[name];
        if (wanted[name]) joinNaNs(descs[name], got, due);
        else if (tensor === tensors.output) continue;  // in place
        const wrong = got.findIndex((byte, i) => byte !== due[i]);
        if (wrong >= 0) throw new Error(`${name}: byte ${wrong} is ${got[wrong]}, not ${due[wrong]}`);
    }
}

function runRightCall(problem, owned) {
    const {row, descs, attributes} = problem, tensors = {}, constants = {};
    for (const [name, desc] of Object.entries(descs)) owned.push(tensors[name] = hewn.tensor(desc));
    const inPlace = /^add1?$/.test(row.name) && !descs.a.strides && !descs.output.strides && chance(30);
    if (inPlace) tensors.output = tensors.a;
    for (const {name, role} of row.tensors) if (tensors[name]) fill(tensors[name], role);
    const bound = {...tensors};
    for (const {name, role} of row.tensors) {
        if (role === 'output' || !tensors[name] || inPlace || !chance(25)) continue;
        constants[name] = tensors[name];
        delete bound[name];
    }
    const copies = () => Object.fromEntries(
        Object.entries(tensors).map(([name, tensor]) => [name, tensor.bytes.slice()]));
    const before = copies();
    const operator = hewn.compile(row.name, pick([descs, tensors]), {constants, attributes});
    owned.push(operator);
    for (const tensor of Object.values(constants)) fill(tensor);  // compile has read it
    const now = copies();
    operator.run(bound);
    checkResults(problem, tensors, before, now);
}

test("right calls give the reference's bytes", () => {
    const ran = new Set(), lacking = new Set();
    sequence('right calls', () => {
        const problem = randomProblem(), owned = [];
        try {
            runRightCall(problem, owned);
            ran.add(problem.row.name);
        } catch (error) {
            if (/^this build of hewn has no kernel/.test(error.message))
                return lacking.add(problem.row.name);
            const {row, descs, attributes} = problem;
            error.message += `\n${row.name} ${JSON.stringify({descs, attributes})}`;
            throw error;
        } finally {
            for (const owner of owned) owner.destroy();
        }
    });
    assert.ok(process.env.HEWN_CASE || ran.size, `no kernels of ${[...lacking]}`);
});

// ---- Wrong calls ----

const LARGE = 2 ** 40;  // more elements than any memory holds
const JUNK = [undefined, null, 0, -1, 1, 2, 3.5, NaN, Infinity, LARGE, 2 ** 53, 2 ** 63, '', 'a', '\0',
    '__proto__', 'constructor', 'float32', 'int4', 'add', true, 1n, Symbol('s'), [], [1], [-1], [0],
    [LARGE], [2 ** 53 - 1], [2 ** 31, 2 ** 31, 2 ** 31], [1.5], ['2'], [[2]], Array(3), Array(9).fill(1),
    Array(1000).fill(1), {}, {length: 2}, {length: LARGE}, {dataType: 'float32'}, {shape: [2]},
    new Uint8Array(3), new Float32Array(2), new BigInt64Array(2), new DataView(new ArrayBuffer(4)),
    new ArrayBuffer(8), new Map(), () => 1, Object.create(null)];
const junk = () => pick(JUNK);

// A copy in which one place, at any depth, is changed.
function damaged(value, depth = 0) {
    const isPlain = value !== null && typeof value === 'object' &&
        (Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype);
    const keys = isPlain ? Object.keys(value) : [];
    if (!keys.length || (depth && chance(30))) return junk();
    const copy = Array.isArray(value) ? [...value] : {...value}, key = pick(keys);
    if (chance(15)) delete copy[key];
    else if (chance(10)) copy[String(pick(['x', 'constructor', 9]))] = junk();
    else copy[key] = damaged(value[key], depth + 1);
    return copy;
}

// Makes the call and destroys what it returns. Returns whether the call was refused, as it may be.
function isRefused(call) {
    let made;
    try {
        made = call();
    } catch (error) {
        const allowed = error instanceof HewnError || error.constructor === TypeError;
        if (!allowed) throw error;
        assert.ok(error.message.length > 4, 'an error without a message');
        return true;
    }
    made?.destroy?.();
    return false;
}

// Binds something else as one of the tensors. Everything that is not bound as an output must keep
// its bytes, and so must all tensors if the call is refused.
function wrongRun({row, descs, attributes}, owned) {
    const tensors = {};
    for (const {name, role} of row.tensors) {
        if (!descs[name]) continue;
        owned.push(tensors[name] = hewn.tensor(descs[name]));
        fill(tensors[name], role);
    }
    const operator = hewn.compile(row.name, descs, {attributes}), bound = {...tensors};
    const others = Object.values(tensors), name = pick(Object.keys(tensors));
    const gone = hewn.tensor(descs[name]), small = hewn.tensor({dataType: 'uint8', shape: [0]});
    owned.push(operator, small);
    gone.destroy();
    bound[pick([name, name, name, 'x'])] = pick([gone, small, pick(others), junk()]);
    if (chance(10)) operator.destroy();
    const before = others.map(tensor => tensor.bytes.slice());
    const refused = isRefused(() => operator.run(pick([bound, bound, bound, junk()])));
    const outputs = row.tensors.filter(({role}) => role === 'output').map(t => bound[t.name]);
    others.forEach((tensor, i) => {
        if (refused || !outputs.includes(tensor))
            assert.deepEqual(tensor.bytes, before[i], `${row.name} wrote`);
    });
}

const WEBNN = ['add', 'quantizeLinear', 'dequantizeLinear', 'broadcastShape', 'opSupportLimits'];
const CALLS = [
    () => hewn.tensor(damaged(randomProblem().descs.output), pick([undefined, junk()])),
    () => hewn.tensor({dataType: pick(['float32', 'float16', 'bfloat16', 'int64', 'int4',
        'float8e5m2', 'float6e2m3']), shape: [2]}, junk()),
    () => {
        const tensor = hewn.tensor({dataType: 'float32', shape: [2]}, [1, 2]);
        if (isRefused(() => tensor.set(pick([junk(), [junk(), junk()]]))))
            assert.deepEqual([...tensor.data], [1, 2], 'set() wrote');
        return tensor;
    },
    () => {
        const {row, descs, attributes} = randomProblem(), options = {attributes, constants: {}};
        const [name, given, chosen] = damaged([row.name, descs, options]);
        return hewn.compile(name, given, chosen);
    },
    () => {
        const {row, descs} = randomProblem();
        return hewn.compile(row.name, descs, {constants: {[pick(Object.keys(descs))]: junk()}});
    },
    () => {
        const {row, descs} = randomProblem(), names = Object.keys(descs);
        const mixed = {...descs, [pick(names)]: descs[pick(names)]};
        return hewn.compile(row.name, mixed, {variant: pick([...hewn.variants].map(v => v.name))});
    },
    () => pick([alongAxis, broadcast, repeated, arrayOf])(junk(), junk(), junk()),
    () => broadcast(damaged({dataType: 'float32', shape: [2, 3]}), pick([[2, 3], junk()])),
    () => webnn[pick(WEBNN)](pick([hewn, junk()]), junk(), junk(), junk()),
    () => {
        const desc = {dataType: 'float32', shape: [2, 3]}, given = damaged([desc, desc, desc, {}]);
        return webnn[pick(['quantizeLinear', 'dequantizeLinear', 'add'])](hewn, ...given);
    },
];

test('wrong calls are refused by a HewnError or a TypeError, and write nothing', () => {
    const f32 = {dataType: 'float32', shape: [3]}, a = hewn.tensor(f32, [1, 2, 3]);
    const b = hewn.tensor(f32), operator = hewn.compile('add', {a, b: a, output: b});
    let refused = 0, runs = 0;
    const cases = sequence('wrong calls', () => {
        if (chance(30)) {
            const owned = [];
            try {
                wrongRun(randomProblem(), owned);
                runs++;
            } catch (error) {
                if (!/^this build of hewn has no kernel/.test(error.message)) throw error;
            } finally {
                for (const owner of owned) owner.destroy();
            }
        } else {
            const call = pick(CALLS);
            try {
                refused += isRefused(call);
            } catch (error) {
                error.message += `\n${call}`;
                throw error;
            }
        }
        operator.run({a, b: a, output: b});
        assert.deepEqual([...a.data, ...b.data], [1, 2, 3, 2, 4, 6], 'the module is damaged');
    });
    console.log(`${refused} refused, ${runs} runs`);
    assert.ok(process.env.HEWN_CASE || refused > cases / 4);
    const {byteLength} = hewn.memory.buffer;
    assert.ok(byteLength < 2 ** 28, `something is never given back: ${byteLength} bytes`);
});
