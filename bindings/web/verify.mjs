// Checks whether the kernels give the formulas' results on this engine, bit for bit. The formulas
// are written here in JavaScript, with one rounding for each operation (docs/numerics.md).
// verify.d.ts documents the exported functions.
import {alongAxis, arrayOf, repeated, toBf16, toF16} from './hewn.mjs';
import {SMALL_FLOATS} from './small_floats.mjs';

export {toBf16, toF16};

const f32 = Math.fround;

// ---- Floats ----

const scratch = new DataView(new ArrayBuffer(8));

/** The value of an f16 with these bits. */
export function fromF16(bits) {
    const exponent = (bits >> 10) & 31, fraction = bits & 1023, sign = bits & 0x8000 ? -1 : 1;
    if (exponent === 31) return fraction ? NaN : sign * Infinity;
    return sign * (exponent ? (1024 + fraction) * 2 ** (exponent - 25) : fraction * 2 ** -24);
}

/** The value of a bf16 with these bits. */
export function fromBf16(bits) {
    scratch.setUint32(0, bits << 16);
    return scratch.getFloat32(0);
}

// [number(code), code(number)] of a small float. A number is rounded to the nearest code, ties to
// even, and saturates.
function smallFloat({bits, mantissa, bias, largest, nan, sign}) {
    const number = code => {
        const magnitude = sign ? code & (sign - 1) : code, above = code === magnitude ? 1 : -1;
        if (!sign) return code === nan ? NaN : 2 ** (code - bias);
        if (nan && (code === nan || magnitude > largest)) {
            const isInfinity = magnitude === largest + 1 && nan !== largest + 1;
            return isInfinity ? above * Infinity : NaN;
        }
        const exponent = magnitude >> mantissa, fraction = magnitude & ((1 << mantissa) - 1);
        const units = exponent ? fraction + (1 << mantissa) : fraction;
        return above * units * 2 ** (Math.max(exponent, 1) - bias - mantissa);
    };
    const magnitudes = Float64Array.from({length: largest + 1}, (_, code) => number(code));
    const code = value => {
        if (Number.isNaN(value)) return nan || largest;
        const magnitude = Math.min(Math.abs(value), magnitudes[largest]);
        let low = 0;
        for (let step = 1 << (bits - 1); step; step >>= 1)
            if (low + step <= largest && magnitudes[low + step] <= magnitude) low += step;
        const down = magnitude - magnitudes[low], up = magnitudes[low + 1] - magnitude;
        const nearest = up < down || (up === down && low & 1) ? low + 1 : low;
        const isNegative = value < 0 || Object.is(value, -0);
        return isNegative && (nearest || nan !== sign) ? nearest | sign : nearest;
    };
    return [number, code];
}
/** [number(code), code(number)] of each small float. */
export const SMALL = Object.fromEntries(
    Object.entries(SMALL_FLOATS).map(([name, numbers]) => [name, smallFloat(numbers)]));
// Whether an operator is verified with a type that kernels take as codes in bytes, which their
// signatures call f8. Formulas of single elements are evaluated only with whole bytes.
const isVerified = (name, operator) =>
    SMALL_FLOATS[name]?.sign && (SMALL_FLOATS[name].bits === 8 || WHOLE[operator]);

// ---- The formulas ----

// Rounds to the nearest integer, ties to even.
const rint = x => (Math.abs(x) < 2 ** 51 ? x + 1.5 * 2 ** 52 - 1.5 * 2 ** 52 : x);

// Rounds a quotient, adds the zero point and clamps to the type. NaN becomes the zero point.
function requantized(quotient, zeroPoint, {least, most}) {
    return Number.isNaN(quotient) ? zeroPoint
        : Math.min(Math.max(rint(quotient) + zeroPoint, least), most);
}
const difference = (x, zeroPoint) => f32(x - zeroPoint);

const ACTIVATIONS = {
    identity: x => x,
    linear: (x, {alpha, beta}) => f32(f32(alpha * x) + beta),
    relu: x => Math.max(0, x),
    leaky_relu: (x, {alpha}) => (x >= 0 ? x : f32(alpha * x)),
    thresholded_relu: (x, {alpha}) => (x > alpha ? x : 0),
    hard_sigmoid: (x, {alpha, beta}) => Math.max(0, Math.min(f32(f32(alpha * x) + beta), 1)),
    softsign: x => f32(x / f32(1 + Math.abs(x))),
    shrink: (x, {bias, threshold}) =>
        (x < -threshold ? f32(x + bias) : x > threshold ? f32(x - bias) : 0),
    clip: (x, {min, max}) => Math.min(Math.max(x, min + 0), max + 0),  // not -0
};
// The bounds of activations of quantizedLinearAdd.
const BOUNDS = {relu: [0], relu6: [0, 6], relu_n1_to_1: [-1, 1]};

const FORMULAS = {
    add1: (v, type, {activation, ...parameters}) =>
        ACTIVATIONS[activation](type.number(type.stored(f32(v.a + v.b))), parameters),
    add: (v, type) => (type.isFloat ? f32(v.a + v.b) : v.a + v.b),
    quantizeLinear(v, type) {
        const quotient = f32(f32(v.input) / v.scale);
        return type.isFloat ? quotient : requantized(quotient, v.zeroPoint, type);
    },
    dequantizeLinear: v => f32(difference(v.input, v.zeroPoint) * v.scale),
    quantizedLinearAdd(v, type, {activation}) {
        const a = f32(difference(v.a, v.aZeroPoint) * v.aScale);
        const b = f32(difference(v.b, v.bZeroPoint) * v.bScale);
        const quantized = x => requantized(f32(x / v.outputScale), v.outputZeroPoint, type);
        const [low = type.least, high = type.most] = (BOUNDS[activation] ?? []).map(quantized);
        return Math.min(Math.max(quantized(f32(a + b)), low), high);
    },
    quantizedLinearMul(v, type) {
        const product = f32(difference(v.a, v.aZeroPoint) * difference(v.b, v.bZeroPoint));
        const ratio = f32(f32(v.aScale * v.bScale) / v.outputScale);
        return requantized(f32(product * ratio), v.outputZeroPoint, type);
    },
    requantize(v, type) {
        const value = f32(difference(v.input, v.inputZeroPoint) * v.inputScale);
        return requantized(f32(value / v.outputScale), v.outputZeroPoint, type);
    },
};

// Operators whose elements depend on the whole input: functions that compute all outputs.
const WHOLE = {
    dynamicQuantize(input, type, {mode = 'asymmetric'} = {}) {
        const numbers = input.filter(x => !Number.isNaN(x));
        const low = numbers.reduce((a, b) => Math.min(a, b), 0);
        const high = numbers.reduce((a, b) => Math.max(a, b), 0);
        const largest = type.isFloat ? type.number(type.stored(Infinity)) : 0;
        const {least = -largest, most = largest} = type;
        const middle = least < 0 ? 0 : (most + 1) / 2;
        const [extent, steps] = {
            asymmetric: [f32(high - low), most - least],
            symmetric: [Math.max(high, -low), most - middle],
            full: [high > -low ? high : low, least - middle],
        }[mode];
        const outputScale = low === high ? 1 : f32(extent / steps), outputs = {outputScale: [outputScale]};
        if (type.isFloat)
            return {...outputs, output: input.map(x => type.stored(f32(x / outputScale)))};
        const shifted = f32(least - f32(low / outputScale));
        const clamped = Math.min(Math.max(Number.isNaN(shifted) ? least : shifted, least), most);
        const zeroPoint = mode === 'asymmetric' ? rint(clamped) : middle;
        const output = input.map(x => requantized(f32(x / outputScale), zeroPoint, {least, most}));
        return {...outputs, output, outputZeroPoint: [zeroPoint]};
    },
    dynamicQuantizeLinear: (input, type) => WHOLE.dynamicQuantize(input, type),
    mxQuantize(input, type, {scale_mode}) {
        const outputs = rowsOf(input).map(row => mxBlock(row, type, scale_mode));
        return {output: outputs.flatMap(([codes]) => codes), outputScale: outputs.map(([, byte]) => byte)};
    },
    nvfp4Quantize(input, type, attributes, {tensorScale}) {
        const rows = rowsOf(input);
        const most = Math.max(0, ...rows.map(largestBits).filter(bits => bits < INFINITE));
        const chosen = most ? f32(floatOf(most) / 2688) : 1, scale = tensorScale ? stored(tensorScale)[0] : chosen;
        const outputs = rows.map(row => nvfp4Block(row, type, scale));
        return {
            output: outputs.flatMap(([codes]) => codes), outputScale: outputs.map(([, code]) => code),
            outputTensorScale: [scale],
        };
    },
};

// ---- Blocks of MX and NVFP4: here each row is one ----

const INFINITE = 0x7f800000;  // the bits of an infinite f32, and of no smaller one
function bitsOf(x) {
    scratch.setFloat32(0, x);
    return scratch.getUint32(0);
}
function floatOf(bits) {
    scratch.setUint32(0, bits);
    return scratch.getFloat32(0);
}
const largestBits = row => Math.max(...row.map(x => bitsOf(x) & 0x7fffffff));
const rowsOf = input => Array.from({length: ROWS}, (_, y) => input.slice(y * COLUMNS, (y + 1) * COLUMNS));

// [codes, the scale's byte] of MX_QUANTIZE.
function mxBlock(row, type, mode) {
    const bits = largestBits(row);
    if (bits >= INFINITE) return [row.map(() => (type.isFloat ? type.nan : 0)), 255];
    const largest = bitsOf(type.isFloat ? type.number(type.stored(Infinity)) : 127 / 64);
    const emax = (largest >> 23) - 127, top = largest & 0x7fffff, fraction = bits & 0x7fffff;
    let exponent = bits >> 23;
    if (mode === 'ceil') exponent += (exponent ? fraction : 2 * fraction - 0x800000) > top ? 1 : 0;
    if (mode === 'even') exponent = (bits + 2 ** (22 - type.mantissa)) >> 23;
    const byte = Math.min(Math.max(exponent - emax, 0), 254), scale = 2 ** (byte - 127);
    const code = x => (type.isFloat ? type.stored(f32(x / scale))
        : Math.min(Math.max(rint(64 * f32(x / scale)), -127), 127));
    return [row.map(code), byte];
}

// [codes, the scale's code] of NVFP4_QUANTIZE.
function nvfp4Block(row, type, tensorScale) {
    const bits = largestBits(row), [number, code] = SMALL.float8e4m3fn;
    const exact = bits < INFINITE ? f32(f32(floatOf(bits) / 6) / tensorScale) : NaN;
    const scale = bits ? code(exact) : 0, factor = f32(number(scale) * tensorScale);
    const zero = x => (x < 0 || Object.is(x, -0) ? -0 : 0);
    const element = x => type.stored(factor === 0 ? zero(x) : f32(x / factor));
    return [row.map(x => (Number.isNaN(number(scale)) ? 0 : element(x))), scale];
}

// ---- Elements ----

// How elements of a type are handled: `Array` is the class of their array, number(element) is an
// element's value (a BigInt for 64 bits), and stored(value) is the element for a value.
function typeOf(dataType) {
    const bits = Number(/\d+/.exec(dataType)[0]), isFloat = /^b?float/.test(dataType);
    const signed = dataType.startsWith('int');
    const halves = {float16: [fromF16, toF16], bfloat16: [fromBf16, toBf16]};
    const [number, toBits] = halves[dataType] ?? SMALL[dataType] ?? [];
    const {nan, mantissa = 6} = SMALL_FLOATS[dataType] ?? {};  // 6: of MX's int8
    const type = {
        bits, isFloat, nan, mantissa, Array: halves[dataType] ? Uint16Array : arrayOf(dataType),
        number: number ?? (x => x), stored: toBits ?? (x => x),
    };
    if (!isFloat) type.least = signed ? -(2 ** (bits - 1)) : 0;
    if (!isFloat) type.most = 2 ** (signed ? bits - 1 : bits) - 1;
    return type;
}

/** A view of a tensor's memory. Elements of f16, bf16 and small floats are their bits. */
export const stored = tensor => new (typeOf(tensor.dataType).Array)(
    tensor.bytes.buffer, tensor.bytes.byteOffset, tensor.length);

/** How many elements differ in any bit. All NaNs count as equal. */
export function differing(dataType, got, expected) {
    const {Array, number} = typeOf(dataType);
    const bytes = Array.BYTES_PER_ELEMENT, Bits = [, Uint8Array, Uint16Array, , Uint32Array][bytes];
    const bits = view => (Bits ? new Bits(view.buffer, view.byteOffset, view.length) : view);
    const [left, right] = [bits(got), bits(expected)];
    const isNaN = value => Number.isNaN(Number(number(value)));
    let count = 0;
    for (let i = 0; i < left.length; i++)
        if (left[i] !== right[i] && !(isNaN(got[i]) && isNaN(expected[i]))) count++;
    return count;
}

/** A sequence of uint32 that a seed determines (xorshift32). */
export function randomWords(seed) {
    let state = seed | 1;
    return () => {
        state ^= state << 13;
        state ^= state >>> 17;
        return (state ^= state << 5) >>> 0;
    };
}

const SPECIAL = [0, -0, 0.5, 1.5, 2.5, -0.5, -1.5, 6e-8, 1e-40, 3e38, Infinity, -Infinity, NaN];

function fill(view, type, random) {
    const words = new Uint32Array(view.buffer, view.byteOffset, view.byteLength >> 2);
    if (!type.isFloat || type.bits === 8) return words.forEach((_, i) => { words[i] = random(); });
    // After the special values, half of the elements are any bits, and half are numbers that the
    // scales of these tests make integers or ties of.
    view.forEach((_, i) => {
        scratch.setUint32(0, random());
        const any = scratch.getFloat32(0), near = f32(((random() % 4096) - 2048) / 8);
        view[i] = type.stored(i < SPECIAL.length ? SPECIAL[i] : i & 1 ? any : near);
    });
}

// {tensor's name: its type} for a kernel's signature, such as "f32_u8". `ofCodes` is the type that the
// signature calls f8.
function typesOf({tensors}, signature, ofCodes) {
    const words = signature.split('_').map(word => (word === 'f8' ? ofCodes
        : word.replace(/^[a-z]+/, kind => ({f: 'float', bf: 'bfloat', i: 'int', u: 'uint'})[kind])));
    const types = tensors.map(tensor => (tensor.inSignature ? words.shift() : undefined));
    const resolve = i => types[i] ??= tensors[i].like < 0 ? tensors[i].types[0] : likeOf(tensors[i]);
    const likeOf = ({like, likeIntegers}) =>
        (likeIntegers && !typeOf(resolve(like)).isFloat ? likeIntegers : resolve(like));
    // Some operators' signatures name a tensor that has another tensor's type. That one's type then
    // follows from it.
    tensors.forEach(({like, likeIntegers}, i) => {
        if (types[i] && like >= 0 && !likeIntegers) types[like] ??= types[i];
    });
    return Object.fromEntries(tensors.map(({name}, i) => [name, resolve(i)]));
}

const ROWS = 37, COLUMNS = 111;  // no multiple of a vector
const SHAPE = [ROWS, COLUMNS];

// The description of a scale or zero point: a single one, or one for each row or column.
const describe = (dataType, axis) =>
    (axis === undefined ? repeated(dataType, SHAPE) : alongAxis(dataType, SHAPE, axis));

const aScale = random => f32(2 ** -(random() % 9) * (1 + (random() % 3) / 7));

// Whether an optional tensor is absent: the zero point of some modes, and the scale of the tensor as an
// input or as an output.
function isAbsent({role, oneElement}, {mode = 'asymmetric'}, gives) {
    if (!oneElement) return mode !== 'asymmetric';
    return gives === (role === 'output');
}

// `gives`: a scale that may be absent is given.
function problem(hewn, row, types, axis, random, attributes, gives) {
    const tensors = {}, ofFormat = /^(mx|nvfp4)/.test(row.name);
    for (const tensor of row.tensors) {
        const {name, role, oneElement, optional} = tensor;
        if (WHOLE[row.name] && optional && isAbsent(tensor, attributes, gives)) continue;
        const isChosen = role === 'output' && name !== 'output' && !oneElement;
        if (isChosen) {  // one scale for all elements, or for each row
            tensors[name] = hewn.tensor(describe(types[name], ofFormat ? 0 : undefined));
            continue;
        }
        const contiguous = role === 'data' || role === 'output';
        const desc = contiguous ? {dataType: types[name], shape: oneElement ? [1, 1] : SHAPE}
            : describe(types[name], oneElement ? undefined : axis);
        const made = tensors[name] = hewn.tensor(desc), view = stored(made);
        const type = typeOf(types[name]);
        if (role === 'scale') view.forEach((_, i) => { view[i] = type.stored(aScale(random)); });
        else if (role !== 'output') fill(view, type, random);
        if (WHOLE[row.name] && role === 'data') limit(view, type);
    }
    return tensors;
}

// Replaces large numbers, so that the range of the input is finite.
function limit(view, type) {
    view.forEach((value, i) => {
        if (Math.abs(type.number(value)) > 512) view[i] = type.stored((i % 1000) / 3);
    });
}

// A function (y, x) that returns the tensor's element for the output's element there. A zero point
// of floats is 0, whatever its element.
function reader(tensor, role) {
    const {number, isFloat} = typeOf(tensor.dataType), view = stored(tensor);
    if (role === 'zeroPoint' && isFloat) return () => 0;
    const [down, along] = tensor.strides ?? [COLUMNS, 1];
    return (y, x) => number(view[y * down + x * along]);
}

// {output's name: its expected elements}
function expectedOutput(row, tensors, attributes) {
    if (!WHOLE[row.name]) return {output: elementwise(row, tensors, attributes)};
    const {number} = typeOf(tensors.input.dataType);
    const input = Array.from(stored(tensors.input), number);
    const outputs = WHOLE[row.name](input, typeOf(tensors.output.dataType), attributes, tensors);
    return Object.fromEntries(Object.entries(outputs).filter(([name]) => tensors[name]).map(
        ([name, values]) => [name, packed(values, typeOf(tensors[name].dataType))]));
}

// The elements as memory has them: those of sub-byte types bit by bit, the first in the lowest bits.
function packed(values, {bits, Array: Elements}) {
    if (bits >= 8) return new Elements(values);
    const bytes = new Uint8Array(Math.ceil(values.length * bits / 8));
    values.forEach((value, i) => {
        for (let bit = i * bits; bit < (i + 1) * bits; bit++)
            bytes[bit >> 3] |= ((value >> (bit - i * bits)) & 1) << (bit & 7);
    });
    return bytes;
}

function elementwise(row, tensors, attributes) {
    const formula = FORMULAS[row.name], {output, ...inputs} = tensors;
    if (!formula) throw new Error(`verify.mjs has no formula of ${row.name}`);
    const type = typeOf(output.dataType), expected = new type.Array(output.length);
    const roles = Object.fromEntries(row.tensors.map(({name, role}) => [name, role]));
    const readers = Object.entries(inputs).map(
        ([name, tensor]) => [name, reader(tensor, roles[name])]);
    for (let i = 0; i < expected.length; i++) {
        const values = {}, y = Math.floor(i / COLUMNS);
        for (const [name, read] of readers) values[name] = read(y, i - y * COLUMNS);
        expected[i] = type.stored(formula(values, type, attributes));
    }
    return expected;
}

// Parameters of activations of add1, which f32 holds exactly.
const PARAMETERS = {alpha: 0.375, beta: -0.75, bias: 0.5, threshold: 1.5, min: -1, max: 6};

// The attributes with which an operator is verified: each activation, or each mode that the output's
// type has.
function attributesOf({attributes}, isFloat) {
    const [choice, ...parameters] = attributes;
    if (choice?.name === 'scale_mode') return choice.values.map(mode => ({scale_mode: mode}));
    if (choice?.name === 'mode')
        return choice.values.filter(mode => !isFloat || mode === 'symmetric').map(mode => ({mode}));
    if (choice?.name !== 'activation') return [{}];
    return choice.values.map(activation => ({activation, ...Object.fromEntries(
        parameters.filter(({of}) => of.includes(activation)).map(({name}) => [name, PARAMETERS[name]]))}));
}

/** Runs a kernel on random and special values: with one scale, with one for each row and with one
 * for each column, or with each activation. Counts the results that differ. */
export function verifyVariant(hewn, {name, operator, signature}, seed = 1) {
    const row = hewn.operators[operator], random = randomWords(seed);
    const wide = row.tensors.some(({role, oneElement}) => role === 'scale' && !oneElement);
    const axes = wide ? [undefined, 0, 1] : [undefined];
    const result = {variant: name, elements: 0, differing: 0};
    const words = signature.split('_'), inSignature = row.tensors.filter(tensor => tensor.inSignature);
    const {types = []} = inSignature[words.indexOf('f8')] ?? {};
    const formats = words.includes('f8') ? types.filter(name => isVerified(name, operator)) : [undefined];
    const mayGive = row.tensors.some(({role, optional}) => role === 'scale' && optional) ? [true, false] : [true];
    const runs = formats.flatMap(ofCodes => axes.flatMap(axis => mayGive.flatMap(
        gives => attributesOf(row, Boolean(ofCodes)).map(attributes => ({ofCodes, axis, gives, attributes})))));
    for (const {ofCodes, axis, gives, attributes} of runs) {
        const tensors = problem(hewn, row, typesOf(row, signature, ofCodes), axis, random, attributes, gives);
        const compiled = hewn.compile(operator, tensors, {variant: name, attributes});
        compiled.run(tensors);
        for (const [name, expected] of Object.entries(expectedOutput(row, tensors, attributes))) {
            const {dataType, length} = tensors[name];
            const got = stored(tensors[name]).subarray(0, expected.length);
            result.elements += length;
            result.differing += differing(dataType, got, expected);
        }
        for (const owner of [compiled, ...Object.values(tensors)]) owner.destroy();
    }
    return result;
}

/** The results of verifyVariant for each kernel of the module. */
export const verify = (hewn, seed = 1) =>
    hewn.variants.map(variant => verifyVariant(hewn, variant, seed));
