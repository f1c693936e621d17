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

const word = new DataView(new ArrayBuffer(4));
function roundBf16(value) {
    if (!Number.isFinite(value)) return value;
    word.setFloat32(0, value);
    const bits = word.getUint32(0), even = (bits >>> 16) & 1;
    word.setUint32(0, ((bits + 0x7fff + even) & 0xffff0000) >>> 0);
    return word.getFloat32(0);
}

/** A type, with functions for its elements in memory: read(view, index) and write(view, index,
 * value) of a DataView. */
export function typeOf(dataType) {
    const bits = Number(/\d+$/.exec(dataType)[0]), signed = dataType.startsWith('int');
    const isFloat = /^b?float/.test(dataType), bytes = bits / 8;
    const range = isFloat ? {} : {
        least: signed ? -(2 ** (bits - 1)) : 0, most: 2 ** (signed ? bits - 1 : bits) - 1,
    };
    const type = {bits, isFloat, signed, ...range};
    if (bits < 8) {
        const mask = (1 << bits) - 1, at = i => [(i * bits) >> 3, (i * bits) & 7];
        type.read = (view, i) => {
            const value = (view.getUint8(at(i)[0]) >> at(i)[1]) & mask;
            return signed && value > type.most ? value - 2 ** bits : value;
        };
        type.write = (view, i, value) => {
            const [byte, shift] = at(i), others = view.getUint8(byte) & ~(mask << shift);
            view.setUint8(byte, others | ((value & mask) << shift));
        };
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
    const round = PRECISION[precision];
    return quantized(round(f32(round(f32(input)) / round(scale))), zeroPoint, type);
}
const dequantizeLinear = ({input, scale, zeroPoint}) => f32(f32(input - zeroPoint) * scale);

const FORMULAS = {
    add: ({a, b}, type) => (type.bits === 64 ? a + b : type.isFloat && type.bits === 32
        ? f32(a + b) : a + b),
    quantizeLinear, quantize: quantizeLinear,
    dequantizeLinear, dequantize: dequantizeLinear,
    quantizedLinearAdd(v, type) {
        const a = dequantizeLinear({input: v.a, scale: v.aScale, zeroPoint: v.aZeroPoint});
        const b = dequantizeLinear({input: v.b, scale: v.bScale, zeroPoint: v.bZeroPoint});
        return quantized(f32(f32(a + b) / v.outputScale), v.outputZeroPoint, type);
    },
    quantizedLinearMul(v, type) {
        const product = (v.a - v.aZeroPoint) * (v.b - v.bZeroPoint);
        const ratio = f32(f32(v.aScale * v.bScale) / v.outputScale);
        return quantized(f32(product * ratio), v.outputZeroPoint, type);
    },
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
    const shape = descs[inputs[0]].shape;
    const read = (name, index) =>
        types[name].read(views[name], offsetOf(descs[name], index));
    const write = (name, index, value) =>
        types[name].write(views[name], offsetOf(descs[name], index), value);
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
    for (const index of indices(shape)) {
        const values = {};
        for (const name of inputs) {
            values[name] = descs[name] ? read(name, index) : absent(row.name, zeroType(name));
        }
        write('output', index, formula(values, types.output, attributes));
    }
    for (const name of Object.keys(result)) clearTail(descs[name], types[name], views[name]);
    return result;
}

// In a sub-byte type, the bits after the last element become 0.
function clearTail({shape, ...rest}, {bits, write}, view) {
    if (bits >= 8 || !count(shape)) return;
    const last = offsetOf({shape, ...rest}, shape.map(size => size - 1));
    for (let i = last + 1; (i * bits) % 8; i++) write(view, i, 0);
}
