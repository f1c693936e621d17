// Runs conformance cases (tests/data/*.jsonl, in the format of its README.md) with the package, as
// the command `hewn conformance` does: runCases(hewn, the text of a file).
import {HewnError, arrayOf} from '../hewn.mjs';
import {add, dequantizeLinear, quantizeLinear} from '../webnn.mjs';
import {fromBf16, fromF16, stored, toF16} from '../verify.mjs';
import {typeOf} from './reference.mjs';

const KINDS = {f: 'float', bf: 'bfloat', i: 'int', u: 'uint'};
const dataType = word => word.replace(/^[a-z]+/, kind => KINDS[kind] ?? kind);
const lower = name => name[0].toLowerCase() + name.slice(1).replace(/Tensor$/, '');
const plain = name => name.replaceAll('_', '').toLowerCase();
const operatorOf = (hewn, name) =>
    Object.values(hewn.operators).find(row => plain(row.name) === plain(name));

// Keeps integers of 64 bits as they are written.
const parsed = line => JSON.parse(line, (_, value, {source} = {}) =>
    (Number.isInteger(value) && !Number.isSafeInteger(value) && source ? source : value));

const NUMBERS = {nan: NaN, inf: Infinity, '-inf': -Infinity};
const number = value => NUMBERS[value] ?? Number(value);

// The number of bits of a sub-byte type; 0 for other types.
const subByteBits = dtype => Number(/^[iuf]([246])($|e)/.exec(dtype)?.[1] ?? 0);
const isSmallFloat = dtype => /^f[468]e/.test(dtype);

// The elements are packed bit by bit, the first one in the lowest bits.
function pack({data, dtype}) {
    const bits = subByteBits(dtype), bytes = new Uint8Array(Math.ceil(data.length * bits / 8));
    for (let bit = 0; bit < data.length * bits; bit++)
        bytes[bit >> 3] |= ((data[Math.floor(bit / bits)] >> (bit % bits)) & 1) << (bit & 7);
    return bytes;
}

// The elements of a sub-byte tensor, all as unsigned numbers.
function unpacked(bytes, {data, dtype}) {
    const bits = subByteBits(dtype), elements = data.map(() => 0);
    for (let bit = 0; bit < data.length * bits; bit++)
        elements[Math.floor(bit / bits)] |= ((bytes[bit >> 3] >> (bit & 7)) & 1) << (bit % bits);
    return elements;
}

/** A case's data as the tensor stores them. */
export function valuesOf({dtype, data}) {
    if (subByteBits(dtype)) return pack({dtype, data});
    if (dtype === 'f16') return Uint16Array.from(data, value => toF16(number(value)));
    if (dtype === 'bf16') return Uint16Array.from(data);
    if (dtype.endsWith('64')) return arrayOf(dataType(dtype)).from(data, BigInt);
    return arrayOf(dataType(dtype)).from(data, number);
}

function describe(tensor, role, shape, axis) {
    const {dtype, strides, block} = tensor, desc = {dataType: dataType(dtype), shape};
    const one = tensor.shape.every(size => size === 1);
    if (strides?.length || block) return {...desc, strides, blockSizes: block};
    if (one) return {...desc, strides: shape.map(() => 0)};
    if ((role === 'scale' || role === 'zeroPoint') && tensor.shape.length === 1)
        return {...desc, strides: shape.map((_, d) => (d === axis ? 1 : 0))};
    return desc;
}

function numberOf(dtype, value) {
    if (isSmallFloat(dtype)) return typeOf(dataType(dtype)).decode(value);
    return ({f16: fromF16, bf16: fromBf16}[dtype] ?? Number)(value);
}

// How far two elements are apart, in units of the last place.
function ulps(dtype, a, b) {
    if (!/^b?f/.test(dtype)) return Math.abs(Number(a) - Number(b));
    const bits = dtype === 'f32' ? new Int32Array(Float32Array.of(a, b).buffer) : [a, b];
    const sign = 2 ** (Number(/\d+/.exec(dtype)[0]) - 1);
    const [x, y] = [...bits].map(word => (word & sign ? -(word & (sign - 1)) : word));
    return Math.abs(x - y);
}

function isWithin({dtype}, {ulp = 0, abs = 0, rel = 0}, got, expected) {
    const [g, e] = [got, expected].map(value => numberOf(dtype, value));
    if (Number.isNaN(g) && Number.isNaN(e)) return true;
    if (Object.is(g, e)) return true;
    if (!Number.isFinite(g) || !Number.isFinite(e)) return false;
    return ulps(dtype, got, expected) <= ulp || Math.abs(g - e) <= abs + rel * Math.abs(e);
}

// A case's outputs, one or several, by their names in the package.
const outputsOf = test => Object.fromEntries(
    Object.entries(test.outputs ?? (test.output ? {OutputTensor: test.output} : {}))
        .map(([name, output]) => [lower(name), output]));

// The number of elements outside the case's tolerance. An exact case has none; but if its source
// compares with a tolerance, the source may write 0 for -0.
function wrongElementsOf(output, test, got) {
    const exact = test.formula === 'exact', elements = bytes =>
        (subByteBits(output.dtype) ? unpacked(bytes, output) : [...bytes]);
    const expected = elements(valuesOf(output));
    const tolerant = Object.values(test.tolerance ?? {}).some(value => value > 0);
    const allowed = exact ? {} : test.tolerance ?? {};
    const zero = value => numberOf(output.dtype, value) === 0;
    return elements(got).filter((value, i) => !isWithin(output, allowed, value, expected[i]) &&
        !(tolerant && zero(value) && zero(expected[i]))).length;
}

const wrongElements = (test, got) => Object.entries(outputsOf(test)).reduce(
    (sum, [name, output]) => sum + wrongElementsOf(output, test, got[name]), 0);

function bound(hewn, descs, test) {
    const tensors = {};
    for (const [name, desc] of Object.entries(descs)) {
        const tensor = tensors[name] = hewn.tensor(desc), key = Object.keys(test.inputs)
            .find(input => lower(input) === name);
        if (key) stored(tensor).set(valuesOf(test.inputs[key]).subarray(0, tensor.length));
    }
    return tensors;
}

/** Runs a compiled operator on a case's data. Returns the outputs' elements by name. */
export function results(hewn, operator, descs, test) {
    const tensors = bound(hewn, descs, test);
    operator.run(tensors);
    const got = Object.fromEntries(
        Object.keys(outputsOf(test)).map(name => [name, stored(tensors[name]).slice()]));
    for (const owner of [operator, ...Object.values(tensors)]) owner.destroy();
    return got;
}

// An attribute's value in the package. Cases write activations in capitals, and 0 and 1 for no and
// yes.
function attributeValue(value, isParameter) {
    if (isParameter) return number(value);
    if (typeof value === 'number') return value === 1;
    return value.toLowerCase().replace(/^(b?)f(?=\d)/, '$1float');
}

// The description of an output. A case that must be refused may have no outputs: then it follows
// from the attributes. Undefined for an output that is absent.
function describeOutput({name, oneElement, optional, types}, test, shape) {
    const {output_dtype, scale_dtype, block = shape.map(size => Math.max(size, 1))} = test.attrs ?? {};
    const given = outputsOf(test), isFirst = name === 'output';
    if (!given[name] && (given.output || optional)) return undefined;
    const word = given[name]?.dtype ?? (isFirst ? output_dtype : scale_dtype);
    const desc = {dataType: word ? dataType(word) : types[0], shape};
    if (oneElement) return {...desc, shape: shape.map(() => 1)};
    return isFirst ? desc : {...desc, blockSizes: block};
}

// Compiles a case: {operator, descs}.
function compiled(hewn, row, test) {
    const {shape} = outputsOf(test).output ?? test.inputs.InputTensor, descs = {};
    for (const tensor of row.tensors) {
        const {name, role} = tensor;
        const output = role === 'output' ? describeOutput(tensor, test, shape) : undefined;
        if (output) descs[name] = output;
        const key = Object.keys(test.inputs).find(input => lower(input) === name);
        if (key && test.inputs[key])
            descs[name] = describe(test.inputs[key], role, shape, test.attrs?.axis);
    }
    const given = row.attributes.filter(({name}) => name in (test.attrs ?? {}));
    const attributes = Object.fromEntries(given.map(
        ({name, of}) => [name, attributeValue(test.attrs[name], of.length > 0)]));
    return {operator: hewn.compile(row.name, descs, {attributes}), descs};
}

// Runs a case, and returns the problem in words, or "". A case that must be refused is only compiled.
function run(hewn, row, test) {
    const {operator, descs} = compiled(hewn, row, test);
    if (!test.expect) return differing(test, results(hewn, operator, descs, test));
    operator.destroy();
    return 'is not refused';
}

function differing(test, got) {
    const wrong = wrongElements(test, got);
    return wrong ? `${wrong} elements differ` : '';
}

const WEBNN = {
    add: (hewn, {a, b}) => add(hewn, a, b),
    quantizeLinear: (hewn, d) => quantizeLinear(hewn, d.input, d.scale, d.zeroPoint),
    dequantizeLinear: (hewn, d) => dequantizeLinear(hewn, d.input, d.scale, d.zeroPoint),
};

// Runs the case with webnn.mjs, from the shapes in the case's source.
function runWebnn(hewn, row, test) {
    const inputs = {}, descs = {};
    for (const [name, {dtype, ...tensor}] of Object.entries(test.inputs)) {
        const {orig_shape: shape = tensor.shape, orig_data: data = tensor.data} = tensor;
        inputs[name] = {dtype, shape, data};
        descs[lower(name)] = {dataType: dataType(dtype), shape};
    }
    descs.output = {dataType: dataType(test.output.dtype), shape: test.output.shape};
    const operator = WEBNN[row.name](hewn, descs);
    return differing(test, results(hewn, operator, descs, {...test, inputs}));
}

// Some values of hewn_status.
const STATUSES = {INVALID_ARGUMENT: 1, UNSUPPORTED: 2};

// Attributes that are read: the tensors say the same, or they determine how to compile.
const READ = [
    'axis', 'block', 'block_size', 'clamp', 'feature_level', 'output_dtype', 'quantization_type',
    'scale_dtype',
];

function reasonToSkip(test, row) {
    const {beyond, formula, attrs = {}} = test;
    const known = [...READ, ...row.attributes.map(({name}) => name)];
    const unknown = Object.keys(attrs).find(name => !known.includes(name));
    // The package has only the newest level, which refuses less.
    const refusedByLevel = test.expect && attrs.feature_level;
    return beyond ? `beyond: ${beyond}` : formula === 'differs' ? 'formula: differs'
        : unknown ? `attribute ${unknown}`
        : refusedByLevel ? `feature level ${attrs.feature_level}` : '';
}

/** Runs the cases of a file's text and counts them in `tally`. `webnn` runs them with webnn.mjs. */
export function runCases(hewn, text, tally = {passed: 0, failed: [], skipped: {}}, webnn = false) {
    for (const line of text.split('\n').filter(Boolean)) {
        const test = parsed(line), row = operatorOf(hewn, test.op);
        const isWebnns = WEBNN[row.name] && !row.attributes.some(({name}) => name in (test.attrs ?? {}));
        const skip = reasonToSkip(test, row) || (webnn && !isWebnns ? "not WebNN's" : '');
        if (skip) {
            tally.skipped[skip] = (tally.skipped[skip] ?? 0) + 1;
            continue;
        }
        try {
            const problem = webnn ? runWebnn(hewn, row, test) : run(hewn, row, test);
            if (problem) tally.failed.push(`${test.id}: ${problem}`);
            else tally.passed++;
        } catch (error) {
            // A TypeError says that hewn.mjs does not have the case's data type.
            if (!(error instanceof HewnError || error instanceof TypeError)) throw error;
            const lacks = /^this build of hewn has no kernel/.test(error.message);
            // hewn.mjs itself refuses what is no description, such as lists of other lengths.
            const status = error.status ?? STATUSES.INVALID_ARGUMENT;
            if (test.expect && status === STATUSES[test.expect]) tally.passed++;
            else if (lacks) tally.skipped['no kernel'] = (tally.skipped['no kernel'] ?? 0) + 1;
            else tally.failed.push(`${test.id}: refused: ${error.message}`);
        }
    }
    return tally;
}
