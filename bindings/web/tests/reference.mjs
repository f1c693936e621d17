// The operators' formulas in JavaScript, element by element and in any layout. They are written
// only from docs/numerics.md and docs/operators.md. random.test.mjs compares the package with them.
const f32 = Math.fround;

// ---- Types ----

// All numbers of f16 that are finite and not below 0.
const F16 = Float64Array.from({length: 0x7c00}, (_, bits) => {
    const exponent = bits >> 10, fraction = bits & 1023;
    return exponent ? (1024 + fraction) * 2 ** (exponent - 25) : fraction * 2 ** -24;
});

function decodeF16(bits) {
    const magnitude = bits & 0x7fff, sign = bits & 0x8000 ? -1 : 1;
    if (magnitude > 0x7c00) return NaN;
    return sign * (magnitude === 0x7c00 ? Infinity : F16[magnitude]);
}

// The bits of the nearest number in the table. If two are equally near, it is the one with even
// bits.
function encodeF16(value) {
    const magnitude = Math.abs(value), sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
    if (Number.isNaN(value)) return 0x7e00;
    if (magnitude >= 65520) return sign | 0x7c00;
    let low = 0, high = F16.length - 1;  // F16[low] <= magnitude
    while (low < high) {
        const middle = (low + high + 1) >> 1;
        if (F16[middle] <= magnitude) low = middle;
        else high = middle - 1;
    }
    if (low === F16.length - 1) return sign | low;
    const down = magnitude - F16[low], up = F16[low + 1] - magnitude;
    return sign | (down < up || (down === up && low % 2 === 0) ? low : low + 1);
}

// Bits of memory from the place `first` on, the lowest one first.
function readBits(view, first, count) {
    let value = 0;
    for (let i = 0; i < count; i++)
        value |= ((view.getUint8((first + i) >> 3) >> ((first + i) & 7)) & 1) << i;
    return value;
}
function writeBits(view, first, count, value) {
    for (let i = 0; i < count; i++) {
        const byte = (first + i) >> 3, bit = 1 << ((first + i) & 7);
        view.setUint8(byte, (view.getUint8(byte) & ~bit) | ((value >> i) & 1 ? bit : 0));
    }
}

const word = new DataView(new ArrayBuffer(4));
function roundBf16(value) {
    if (!Number.isFinite(value)) return value;
    word.setFloat32(0, value);
    const bits = word.getUint32(0), even = (bits >>> 16) & 1;
    word.setUint32(0, ((bits + 0x7fff + even) & 0xffff0000) >>> 0);
    return word.getFloat32(0);
}

// The small floats that have a sign: the bits of the mantissa, the least number above 0, the largest
// one, and the code of NaN, as the table of docs/operators.md has them.
const SMALL = {
    float8e4m3fn: [3, 2 ** -9, 448, 0x7f], float8e4m3fnuz: [3, 2 ** -10, 240, 0x80],
    float8e5m2: [2, 2 ** -16, 57344, 0x7f], float8e5m2fnuz: [2, 2 ** -17, 57344, 0x80],
    float6e2m3: [3, 0.125, 7.5], float6e3m2: [2, 0.0625, 28], float4e2m1: [1, 0.5, 6],
};

// {decode(code), encode(value, saturate)} of a small float.
function smallFloat(dataType, bits) {
    if (dataType === 'float8e8m0') {
        return {
            decode: code => (code === 255 ? NaN : 2 ** (code - 127)),
            encode: value => (Number.isNaN(value) ? 255 : Math.log2(value) + 127),
        };
    }
    const [mantissa, least, largest, nan] = SMALL[dataType], sign = 2 ** (bits - 1);
    const numbers = [];  // all magnitudes: the steps double with each exponent but the first
    for (let value = 0, step = least; value <= largest; value += step) {
        if (numbers.length > 2 ** mantissa && numbers.length % 2 ** mantissa === 0) step *= 2;
        numbers.push(value);
    }
    const last = numbers.length - 1, beyond = 2 * numbers[last] - numbers[last - 1];
    const decode = code => {
        const magnitude = code % sign, above = code < sign ? 1 : -1;
        if (nan === sign && code === sign) return NaN;
        if (magnitude <= last) return above * numbers[magnitude];
        return dataType === 'float8e5m2' && magnitude === last + 1 ? above * Infinity : NaN;
    };
    const overflow = saturate => {
        if (saturate || bits < 8) return last;
        return dataType === 'float8e5m2' ? last + 1 : nan;
    };
    const encode = (value, saturate) => {
        if (Number.isNaN(value)) return nan ?? last;
        const magnitude = Math.abs(value);
        let code = numbers.findLastIndex(number => number <= magnitude);
        const above = code === last ? beyond : numbers[code + 1];
        const down = magnitude - numbers[code], up = above - magnitude;
        if (up < down || (up === down && code % 2)) code++;
        if (code > last) code = overflow(saturate);
        const isNegative = value < 0 || Object.is(value, -0), isWithoutSign = nan === sign && !code;
        return isNegative && !isWithoutSign ? code | sign : code;
    };
    return {decode, encode};
}

/** A type, with functions for its elements in memory: read(view, index) and write(view, index,
 * value) of a DataView. Small floats have decode(code) and encode(value, saturate) too. */
export function typeOf(dataType) {
    const bits = Number(/\d+/.exec(dataType)[0]), signed = dataType.startsWith('int');
    const isFloat = /^b?float/.test(dataType), bytes = bits / 8;
    const range = isFloat ? {} : {
        least: signed ? -(2 ** (bits - 1)) : 0, most: 2 ** (signed ? bits - 1 : bits) - 1,
    };
    const type = {dataType, bits, isFloat, signed, ...range};
    if (isFloat && bits <= 8) {
        const {decode, encode} = Object.assign(type, smallFloat(dataType, bits));
        type.read = (view, i) => decode(readBits(view, i * bits, bits));
        type.write = (view, i, value, saturate = true) =>
            writeBits(view, i * bits, bits, encode(value, saturate));
    } else if (bits < 8) {
        type.read = (view, i) => {
            const value = readBits(view, i * bits, bits);
            return signed && value > type.most ? value - 2 ** bits : value;
        };
        type.write = (view, i, value) => writeBits(view, i * bits, bits, value);
    } else if (dataType === 'float16') {
        type.read = (view, i) => decodeF16(view.getUint16(2 * i, true));
        type.write = (view, i, value) => view.setUint16(2 * i, encodeF16(value), true);
    } else if (dataType === 'bfloat16') {
        type.read = (view, i) => {
            word.setUint32(0, view.getUint16(2 * i, true) << 16);
            return word.getFloat32(0);
        };
        type.write = (view, i, value) => {
            word.setFloat32(0, roundBf16(value));
            view.setUint16(2 * i, word.getUint16(0), true);
        };
    } else {
        const kind = isFloat ? 'Float' : bits === 64 ? (signed ? 'BigInt' : 'BigUint')
            : signed ? 'Int' : 'Uint';
        type.read = (view, i) => view[`get${kind}${bits}`](bytes * i, true);
        type.write = (view, i, value) => view[`set${kind}${bits}`](bytes * i, value, true);
    }
    return type;
}

// ---- Layouts ----

export const count = shape => shape.reduce((product, size) => product * size, 1);
const contiguousStrides = sizes => sizes.map((_, d) => count(sizes.slice(d + 1)));

/** The offset in elements of a tensor's element, for an index of the operator. */
export function offsetOf(desc, index) {
    if (!layouts.has(desc)) layouts.set(desc, layoutOf(desc));
    const {steps, blocks} = layouts.get(desc);
    let offset = 0;
    for (let d = 0; d < steps.length; d++) offset += Math.floor(index[d] / blocks[d]) * steps[d];
    return offset;
}
const layouts = new WeakMap();  // for descriptions that nobody changes

// A dimension of size 1 has no step, so that a tensor of one element has it at every index.
function layoutOf({shape, strides, blockSizes}) {
    const blocks = shape.map((_, d) => blockSizes?.[d] ?? 1);
    const all = strides ?? contiguousStrides(shape.map((size, d) => Math.ceil(size / blocks[d])));
    return {blocks, steps: all.map((step, d) => (shape[d] === 1 ? 0 : step))};
}

/** Yields all indices of a shape. */
export function* indices(shape) {
    const steps = contiguousStrides(shape);
    for (let i = 0, n = count(shape); i < n; i++)
        yield shape.map((size, d) => Math.floor(i / steps[d]) % size);
}

// ---- Formulas ----

function roundToEven(x) {
    const down = Math.floor(x), rest = x - down;
    if (!Number.isFinite(x) || rest === 0) return x;
    return rest < 0.5 || (rest === 0.5 && down % 2 === 0) ? down : down + 1;
}

function quantized(q, zeroPoint, {least, most}) {
    if (Number.isNaN(q)) return zeroPoint;
    return Math.min(Math.max(roundToEven(q) + zeroPoint, least), most);
}

const PRECISION = {
    float32: f32, float16: value => decodeF16(encodeF16(value)), bfloat16: roundBf16,
};

function quantizeLinear({input, scale, zeroPoint}, type, {precision = 'float32'}) {
    const round = PRECISION[precision], q = round(f32(round(f32(input)) / round(scale)));
    return type.isFloat ? q : quantized(q, zeroPoint, type);
}
const dequantizeLinear = ({input, scale, zeroPoint}) => f32(f32(input - zeroPoint) * scale);

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
// The parameters as f32.
const rounded = parameters =>
    Object.fromEntries(Object.entries(parameters).map(([name, value]) => [name, f32(value)]));

const FORMULAS = {
    add1({a, b}, {dataType}, {activation = 'identity', ...parameters}) {
        return ACTIVATIONS[activation](PRECISION[dataType](a + b), rounded(parameters));
    },
    add: ({a, b}, type) => (type.bits === 64 ? a + b : type.isFloat && type.bits === 32
        ? f32(a + b) : a + b),
    quantizeLinear, quantize: quantizeLinear,
    dequantizeLinear, dequantize: dequantizeLinear,
    quantizedLinearAdd(v, type, {activation}) {
        const a = dequantizeLinear({input: v.a, scale: v.aScale, zeroPoint: v.aZeroPoint});
        const b = dequantizeLinear({input: v.b, scale: v.bScale, zeroPoint: v.bZeroPoint});
        const q = x => quantized(f32(x / v.outputScale), v.outputZeroPoint, type);
        const [low = type.least, high = type.most] =
            ({relu: [0], relu6: [0, 6], relu_n1_to_1: [-1, 1]}[activation] ?? []).map(q);
        return Math.min(Math.max(q(f32(a + b)), low), high);
    },
    quantizedLinearMul(v, type) {
        const product = (v.a - v.aZeroPoint) * (v.b - v.bZeroPoint);
        const ratio = f32(f32(v.aScale * v.bScale) / v.outputScale);
        return quantized(f32(product * ratio), v.outputZeroPoint, type);
    },
    nvfp4Dequantize: v => f32(v.input * f32(v.scale * v.tensorScale)),
    requantize(v, type) {
        const value = dequantizeLinear(
            {input: v.input, scale: v.inputScale, zeroPoint: v.inputZeroPoint});
        return quantized(f32(value / v.outputScale), v.outputZeroPoint, type);
    },
};

// The value of an absent zero point.
function absent(name, type) {
    const middle = (name === 'quantize' || name === 'dequantize') && !type.signed;
    return middle ? 2 ** (type.bits - 1) : 0;
}

// Writes the scales and zero points of DYNAMIC_QUANTIZE, and returns the formula of its elements.
function chooseBlocks({types, descs, shape, read, write}, {mode = 'asymmetric', min_scale = 0}) {
    const {output: type, outputScale: {dataType}} = types, blocks = new Map();
    const blockOf = index => offsetOf(descs.outputScale, index);
    for (const index of indices(shape)) {
        const block = blocks.get(blockOf(index)) ?? {low: 0, high: 0, index};
        const value = read('input', index);
        if (value < block.low) block.low = value;
        if (value > block.high) block.high = value;
        blocks.set(blockOf(index), block);
    }
    const {least, most} = type.isFloat ? {least: -SMALL[type.dataType][2], most: SMALL[type.dataType][2]} : type;
    const middle = type.isFloat || type.signed ? 0 : (most + 1) / 2;
    for (const block of blocks.values()) {
        const {low, high, index} = block;
        const extents = {asymmetric: f32(high - low), symmetric: Math.max(high, -low), full: high > -low ? high : low};
        const steps = {asymmetric: most - least, symmetric: most - middle, full: least - middle};
        let scale = f32(extents[mode] / steps[mode]);
        if (min_scale > 0) scale = Math.max(scale, f32(min_scale));
        else if (low === high) scale = 1;
        scale = PRECISION[dataType](scale);
        const shifted = f32(least - f32(low / scale));
        block.scale = scale;
        block.zeroPoint = mode !== 'asymmetric' ? middle : Number.isNaN(shifted) ? least
            : roundToEven(Math.min(Math.max(shifted, least), most));
        write('outputScale', index, scale);
        if (descs.outputZeroPoint) write('outputZeroPoint', index, block.zeroPoint);
    }
    return ({input}, type, attributes, index) => {
        const {scale, zeroPoint} = blocks.get(blockOf(index)), quotient = f32(input / scale);
        return type.isFloat ? quotient : quantized(quotient, zeroPoint, type);
    };
}

// The exponent of an f32 that is not 0, and of 2^-126 for subnormal ones; its significand is below 2.
const exponentOf = x => Math.max(Math.floor(Math.log2(x)), -126);

// The exponent of MX_QUANTIZE's scale, for a largest magnitude, with numbers instead of bits.
function mxExponent(a, type, mode) {
    const largest = type.isFloat ? SMALL[type.dataType][2] : 127 / 64;
    const bits = type.isFloat ? SMALL[type.dataType][0] : 6, emax = Math.floor(Math.log2(largest));
    let exponent = a < 2 ** -126 ? -127 : exponentOf(a);
    if (mode === 'ceil') {
        exponent = -127 + emax;
        while (exponent < 127 + emax && a > largest * 2 ** (exponent - emax)) exponent++;
    }
    if (mode === 'even') {
        const step = 2 ** (exponentOf(a) - bits);  // the last place that the element type keeps
        if (roundHalfUp(a / step) * step >= 2 ** (exponent + 1)) exponent++;
    }
    return Math.min(Math.max(exponent - emax, -127), 127);
}
const roundHalfUp = x => Math.floor(x + 0.5);

// Writes the scales of MX_QUANTIZE and NVFP4_QUANTIZE, and returns the formula of the elements.
function chooseFormat({name, types, descs, shape, read, write}, {scale_mode = 'floor'}) {
    const type = types.output, blocks = new Map(), blockOf = index => offsetOf(descs.outputScale, index);
    for (const index of indices(shape)) {
        const block = blocks.get(blockOf(index)) ?? {a: 0, index}, value = Math.abs(read('input', index));
        if (!(value <= block.a)) block.a = value;
        if (!Number.isFinite(value)) block.lost = true;
        blocks.set(blockOf(index), block);
    }
    const all = [...blocks.values()], most = Math.max(0, ...all.filter(b => !b.lost).map(b => b.a));
    let t = 1;
    if (descs.tensorScale && all.length) t = read('tensorScale', shape.map(() => 0));
    else if (most > 0) t = f32(most / 2688);
    if (descs.outputTensorScale) write('outputTensorScale', shape.map(() => 0), t);
    for (const block of all) {
        const {a, lost, index} = block;
        const scale = lost ? NaN : name === 'mxQuantize' ? 2 ** mxExponent(a, type, scale_mode)
            : a === 0 ? 0 : f32(f32(a / 6) / t);
        write('outputScale', index, scale);
        block.scale = read('outputScale', index);
    }
    return ({input}, type, attributes, index) => {
        const {scale} = blocks.get(blockOf(index));
        if (Number.isNaN(scale)) return type.isFloat && type.bits === 8 ? NaN : 0;
        if (!type.isFloat) return Math.min(Math.max(roundToEven(64 * f32(input / scale)), -127), 127);
        const factor = name === 'mxQuantize' ? scale : f32(scale * t);
        return factor === 0 ? 0 * (input < 0 || Object.is(input, -0) ? -1 : 1) : f32(input / factor);
    };
}

/** Computes the bytes that the outputs will have: {name: Uint8Array}. `descs` has the
 * descriptions by name. `bytes` has all tensors' bytes from before, including the outputs':
 * {name: Uint8Array}. */
export function expected(row, descs, bytes, attributes = {}) {
    const types = {}, views = {}, result = {};
    for (const [name, {dataType}] of Object.entries(descs)) {
        types[name] = typeOf(dataType);
        const isOutput = row.tensors.find(tensor => tensor.name === name).role === 'output';
        const memory = isOutput ? result[name] = bytes[name].slice() : bytes[name];
        views[name] = new DataView(memory.buffer, memory.byteOffset, memory.length);
    }
    const inputs = row.tensors.filter(({role}) => role !== 'output').map(({name}) => name);
    const zeroPoints = row.tensors.filter(({role}) => role === 'zeroPoint').map(({name}) => name);
    const shape = descs[inputs[0]].shape;
    const read = (name, index) =>
        types[name].read(views[name], offsetOf(descs[name], index));
    const write = (name, index, value, saturate) =>
        types[name].write(views[name], offsetOf(descs[name], index), value, saturate);
    const zeroType = name => types[row.tensors[row.tensors.find(t => t.name === name).like].name];

    let formula = FORMULAS[row.name];
    if (row.name === 'dynamicQuantizeLinear') {
        const {least, most} = types.output;
        let low = 0, high = 0;
        for (const index of indices(shape)) {
            const value = read('input', index);
            if (value < low) low = value;
            if (value > high) high = value;
        }
        const scale = low === high ? 1 : f32(f32(high - low) / (most - least));
        const shifted = f32(least - f32(low / scale));
        const zeroPoint = Number.isNaN(shifted) ? least
            : roundToEven(Math.min(Math.max(shifted, least), most));
        write('outputScale', shape.map(() => 0), scale);
        write('outputZeroPoint', shape.map(() => 0), zeroPoint);
        formula = ({input}, type) => quantized(f32(input / scale), zeroPoint, type);
    }
    if (row.name === 'dynamicQuantize') formula = chooseBlocks({types, descs, shape, read, write}, attributes);
    if (/^(mx|nvfp4)Quantize$/.test(row.name))
        formula = chooseFormat({name: row.name, types, descs, shape, read, write}, attributes);
    if (row.name === 'mxDequantize') {
        const unit = types.input.isFloat ? 1 : 1 / 64;
        formula = ({input, scale}) => f32(input * unit * scale);
    }
    for (const index of indices(shape)) {
        const values = {};
        for (const name of inputs) {
            const isZeroPoint = zeroPoints.includes(name);
            if (isZeroPoint && types[name]?.isFloat) values[name] = 0;
            else if (descs[name]) values[name] = read(name, index);
            else if (isZeroPoint) values[name] = absent(row.name, zeroType(name));
        }
        write('output', index, formula(values, types.output, attributes, index), attributes.saturate);
    }
    for (const name of Object.keys(result)) clearTail(descs[name], types[name], views[name]);
    return result;
}

// In a sub-byte type, the bits after the last element become 0.
function clearTail({shape, ...rest}, {bits}, view) {
    if (bits >= 8 || !count(shape) || !view) return;
    const end = (offsetOf({shape, ...rest}, shape.map(size => size - 1)) + 1) * bits;
    writeBits(view, end, -end & 7, 0);
}
