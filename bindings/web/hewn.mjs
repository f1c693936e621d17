// hewn for JavaScript: tensors in the memory of hewn.wasm, and operators on them. A layer over the
// C interface (include/hewn/hewn.h), whose table of operators it reads. hewn.d.ts documents it.

// hewn_data_type, and how JavaScript sees the elements. Some engines have no Float16Array; there an
// element is its 16 bits.
const TYPES = {
    float32: [1, Float32Array],
    float16: [2, globalThis.Float16Array ?? Uint16Array],
    uint32: [3, Uint32Array],
    uint16: [4, Uint16Array],
    uint8: [5, Uint8Array],
    int32: [6, Int32Array],
    int16: [7, Int16Array],
    int8: [8, Int8Array],
    uint64: [10, BigUint64Array],
    int64: [11, BigInt64Array],
    uint4: [12, Uint8Array],  // packed, the first element in the lowest bits
    int4: [13, Uint8Array],
    uint2: [30, Uint8Array],
    int2: [31, Uint8Array],
};
const typeName = number => Object.keys(TYPES).find(name => TYPES[name][0] === number);
const ROLES = ['data', 'scale', 'zeroPoint', 'output'];
// Words of hewn.h's structs; module.c compares them.
const WORDS = {error: 66, tensor: 6, operator: 3, options: 8, binding: 6, info: 12, tensorInfo: 9,
    attributeInfo: 5, variant: 8};
const ENOSYS = 52;

/** The typed array class of a data type. */
export function arrayOf(dataType) {
    if (!Object.hasOwn(TYPES, dataType)) throw new TypeError(`'${dataType}' is no data type`);
    return TYPES[dataType][1];
}

/** What hewn refuses: `status` is a hewn_status. */
export class HewnError extends Error {
    constructor(status, message) {
        super(message);
        this.name = 'HewnError';
        this.status = status;
    }
}

// "quantize_linear" is quantizeLinear, "AScaleTensor" aScale, "bf16" bfloat16.
const operatorName = text => text.replace(/_./g, pair => pair[1].toUpperCase());
const tensorName = text => text[0].toLowerCase() + text.slice(1).replace(/Tensor$/, '');
const valueName = text => text.replace(/f(?=\d)/, 'float');

/** The module, from where `source` says; by default from the file beside this one. */
export async function load(source = new URL('hewn.wasm', import.meta.url)) {
    const module = await compiled(await source);
    let instance;
    const imports = {};
    for (const {module: from, name} of WebAssembly.Module.imports(module))
        (imports[from] ??= {})[name] = systemCall(name, () => instance.exports.memory.buffer);
    instance = await WebAssembly.instantiate(module, imports);
    instance.exports._initialize?.();
    return new Hewn(instance.exports);
}

async function compiled(source) {
    if (source instanceof WebAssembly.Module) return source;
    if (typeof source === 'string' || source instanceof URL) source = await opened(source);
    if (typeof Response === 'undefined' || !(source instanceof Response))
        return WebAssembly.compile(source);
    if (!source.ok) throw new Error(`hewn.wasm: ${source.status} ${source.statusText}`);
    // Not every server knows the type by which engines compile while they read.
    return /^application\/wasm\b/.test(source.headers.get('content-type'))
        ? WebAssembly.compileStreaming(source)
        : WebAssembly.compile(await source.arrayBuffer());
}

// fetch() of Node.js opens no files.
async function opened(url) {
    if (!String(url).startsWith('file:') || !globalThis.process?.versions?.node) return fetch(url);
    const {readFile} = await import('node:fs/promises');
    return readFile(new URL(url));
}

// What the C library asks of a system: there is none. The environment is empty.
const systemCall = (name, memory) => (first, second) => {
    if (name === 'environ_sizes_get') new Uint32Array(memory())[first >> 2] = 0;
    if (name === 'environ_sizes_get') new Uint32Array(memory())[second >> 2] = 0;
    return name.startsWith('environ_') ? 0 : ENOSYS;
};

export class Hewn {
    #exports;
    #words;
    #error;

    constructor(exports) {
        this.#exports = exports;
        this.#error = this.allocate(4 * WORDS.error);
        const version = exports.hewn_version();
        this.version = [version >> 16, (version >> 8) & 255, version & 255].join('.');
        this.operators = Object.fromEntries(this.#operators().map(row => [row.name, row]));
        this.variants = this.#variants();
    }

    get memory() { return this.#exports.memory; }
    // The memory in words. Growing it makes another buffer.
    get words() {
        const {buffer} = this.#exports.memory;
        if (this.#words?.buffer !== buffer) this.#words = new Uint32Array(buffer);
        return this.#words;
    }

    /** A tensor in the module's memory; `values` as for Tensor.set(). */
    tensor(desc, values) {
        const tensor = new Tensor(this, desc);
        if (values !== undefined) tensor.set(values);
        return tensor;
    }

    /** An operator, of a description for each of its tensors by name. */
    compile(name, descs, options = {}) {
        const row = this.operators[name];
        if (!row) throw new TypeError(`'${name}' is no operator`);
        const names = row.tensors.map(tensor => tensor.name);
        refuseOthers(name, names, descs);
        return this.within(scratch => {
            const describe = desc => (desc ? this.#describe(scratch, desc) : 0);
            const pointers = names.map(key => describe(descs[key]));
            const attributes = attributeWords(row, options.attributes ?? {});
            const words = [...pointers, ...attributes];
            const desc = scratch([4 * (1 + words.length), ...words]);
            const described = scratch([4 * WORDS.operator, row.type, desc]);
            const result = scratch([0]);
            const chosen = this.#options(scratch, row, options);
            this.check(this.#exports.hewn_compile(0, described, chosen, result, this.error()));
            return new Operator(this, this.#exports, row, this.words[result >> 2]);
        });
    }

    // ---- For Tensor and Operator ----

    bytesOf(desc) {
        return this.within(scratch => {
            const size = scratch([0, 0]);
            const tensor = this.#describe(scratch, desc);
            this.check(this.#exports.hewn_tensor_size(tensor, size, this.error()));
            return this.words[size >> 2] + this.words[(size >> 2) + 1] * 2 ** 32;
        });
    }

    allocate(bytes) {
        const pointer = bytes < 2 ** 32 ? this.#exports.malloc(Math.max(bytes, 1)) >>> 0 : 0;
        if (!pointer) throw new RangeError(`hewn: no memory for ${bytes} bytes`);
        return pointer;
    }
    free(pointer) { this.#exports.free(pointer); }

    error() {
        this.words[this.#error >> 2] = 4 * WORDS.error;
        return this.#error;
    }
    check(status) {
        if (status) throw new HewnError(status, this.text(this.#error + 8));
    }
    text(pointer) {
        const bytes = new Uint8Array(this.memory.buffer, pointer);
        return new TextDecoder().decode(bytes.slice(0, bytes.indexOf(0)));
    }

    // Calls use(scratch), where scratch(words) is memory that holds them until the end.
    within(use) {
        const pointers = [];
        const scratch = words => {
            const pointer = this.allocate(4 * words.length);
            pointers.push(pointer);
            this.words.set(words, pointer >> 2);
            return pointer;
        };
        try {
            return use(scratch);
        } finally {
            for (const pointer of pointers) this.free(pointer);
        }
    }

    #describe(scratch, {dataType, shape, strides, blockSizes}) {
        arrayOf(dataType);
        const numbers = values => scratch(values.flatMap(value => int64(value)));
        const optional = values => {
            if (values && values.length !== shape.length)
                throw new TypeError(`[${values}] and the shape [${shape}] differ in length`);
            return values ? numbers(values) : 0;
        };
        const pointers = [numbers(shape), optional(strides), optional(blockSizes)];
        return scratch([4 * WORDS.tensor, TYPES[dataType][0], shape.length, ...pointers]);
    }

    #options(scratch, row, {constants = {}, variant = ''}) {
        const inputs = inputsOf(row).map(tensor => tensor.name);
        refuseOthers(`a constant of ${row.name}`, inputs, constants);
        const given = inputs.some(name => constants[name]);
        const bindings = inputs.flatMap(name => bindingWords(constants[name]));
        const characters = [...new TextEncoder().encode(variant)];
        const text = new Uint8Array((characters.length + 4) & ~3);
        text.set(characters);
        return scratch([4 * WORDS.options, 0, scratch(new Uint32Array(text.buffer)), 1, 0, 0,
            given ? scratch(bindings) : 0, given ? inputs.length : 0]);
    }

    // ---- The module's tables ----

    #read(words, fill) {
        return this.within(scratch => {
            const at = scratch([4 * words, ...Array(words - 1).fill(0)]);
            this.check(fill(at));
            return this.words.slice(at >> 2, (at >> 2) + words);
        });
    }

    #operators() {
        const {hewn_operator_count: count, hewn_get_operator: get} = this.#exports;
        return Array.from({length: count()}, (_, index) => {
            const row = this.#read(WORDS.info, at => get(index, 0, at));
            const [type, name, formula] = [row[1], this.text(row[2]), this.text(row[6])];
            const tensors = Array.from({length: row[7]}, (_, i) => this.#tensor(index, i));
            const attributes = this.#attributes(index);
            return {name: operatorName(name), type, formula, tensors, attributes, maxRank: row[11]};
        });
    }
    #attributes(operator) {
        const attributes = [], get = this.#exports.hewn_get_operator_attribute;
        this.within(scratch => {
            const at = scratch([4 * WORDS.attributeInfo, 0, 0, 0, 0]), first = at >> 2;
            while (get(operator, attributes.length, 0, at) === 0) {
                const [, name, values, count, allowed] = this.words.slice(first, first + 5);
                const end = (values >> 2) + (allowed ? count : 1);
                const pointers = [...this.words.slice(values >> 2, end)];
                attributes.push({name: this.text(name), values: pointers.map(
                    pointer => valueName(this.text(pointer)))});
            }
        });
        return attributes;
    }
    #tensor(operator, index) {
        const get = this.#exports.hewn_get_operator_tensor;
        const row = this.#read(WORDS.tensorInfo, at => get(operator, index, 0, at));
        const types = Object.keys(TYPES).filter(name => (row[8] >> TYPES[name][0]) & 1);
        return {
            name: tensorName(this.text(row[1])), role: ROLES[row[2]], optional: row[3] !== 0,
            oneElement: row[4] !== 0, inSignature: row[5] !== 0, like: row[6] | 0,
            likeIntegers: typeName(row[7]), types,
        };
    }
    #variants() {
        const {hewn_variant_count: count, hewn_get_variant: get} = this.#exports;
        return Array.from({length: count()}, (_, index) => {
            const row = this.#read(WORDS.variant, at => get(index, at));
            const [name, operator, signature] = [1, 2, 3].map(word => this.text(row[word]));
            return {name, operator: operatorName(operator), signature};
        });
    }
}

const inputsOf = row => row.tensors.filter(({role}) => role !== 'output');

function refuseOthers(what, names, given) {
    for (const name of Object.keys(given))
        if (!names.includes(name)) throw new TypeError(`${what} has no ${name}: ${names}`);
}

// What a description has behind its tensors: a number each, and an even number of words.
function attributeWords(row, given) {
    const names = row.attributes.map(({name}) => name);
    refuseOthers(row.name, names, given);
    const words = row.attributes.map(({name, values}) => {
        const number = given[name] === undefined ? 0 : values.indexOf(given[name]);
        if (number < 0) throw new TypeError(`${name}: '${given[name]}' is none of ${values}`);
        return number;
    });
    return words.length % 2 ? [...words, 0] : words;
}

// The two words of a number.
function int64(value) {
    if (!Number.isSafeInteger(value)) throw new TypeError(`${value} is no size of a dimension`);
    return [value >>> 0, Math.floor(value / 2 ** 32) >>> 0];
}

const bindingWords = tensor => [4 * WORDS.binding, tensor?.pointer ?? 0, 0, 0,
    tensor?.byteLength ?? 0, 0];

export class Tensor {
    #hewn;

    constructor(hewn, desc) {
        this.#hewn = hewn;
        this.Array = arrayOf(desc.dataType);
        Object.assign(this, desc);
        this.byteLength = hewn.bytesOf(desc);
        this.length = this.byteLength / this.Array.BYTES_PER_ELEMENT;
        this.pointer = hewn.allocate(this.byteLength);
    }

    get data() { return new this.Array(this.#hewn.memory.buffer, this.pointer, this.length); }
    get bytes() { return new Uint8Array(this.#hewn.memory.buffer, this.pointer, this.byteLength); }

    set(values) {
        if (values.length !== this.length)
            throw new RangeError(`${values.length} values for ${this.length} elements`);
        this.data.set(values);
    }

    destroy() {
        if (this.pointer) this.#hewn.free(this.pointer);
        this.pointer = 0;
    }
}

export class Operator {
    #hewn;
    #exports;
    #handle;
    #bindings;
    #inputs;  // how many

    constructor(hewn, exports, row, handle) {
        [this.#hewn, this.#exports, this.#handle] = [hewn, exports, handle];
        this.names = row.tensors.map(tensor => tensor.name);
        this.#inputs = inputsOf(row).length;
        this.variant = hewn.text(exports.hewn_operator_variant(handle));
        this.#bindings = hewn.allocate(4 * WORDS.binding * this.names.length);
        hewn.words.set(this.names.flatMap(() => bindingWords()), this.#bindings >> 2);
    }

    run(tensors) {
        const {names} = this, inputs = this.#inputs, words = this.#hewn.words;
        for (let i = 0, at = this.#bindings >> 2; i < names.length; i++, at += WORDS.binding) {
            const tensor = tensors[names[i]];
            words[at + 1] = tensor ? tensor.pointer : 0;
            words[at + 4] = tensor ? tensor.byteLength : 0;
        }
        const output = this.#bindings + 4 * WORDS.binding * inputs;
        this.#hewn.check(this.#exports.hewn_execute(this.#handle, this.#bindings, inputs, output,
            names.length - inputs, 0, this.#hewn.error()));
    }

    destroy() {
        if (!this.#handle) return;
        this.#exports.hewn_destroy_operator(this.#handle);
        this.#hewn.free(this.#bindings);
        this.#handle = this.#bindings = 0;
    }
}

// ---- Descriptions ----

/** One element for all of a shape. */
export const repeated = (dataType, shape) => ({dataType, shape, strides: shape.map(() => 0)});

/** An element for each index of a dimension. */
export const alongAxis = (dataType, shape, axis) =>
    ({dataType, shape, strides: shape.map((_, d) => (d === axis ? 1 : 0))});

/** A packed tensor that is broadcast to a shape by NumPy's rule. */
export function broadcast({dataType, shape: from}, shape) {
    const strides = shape.map(() => 0), missing = shape.length - from.length;
    for (let d = from.length - 1, step = 1; d >= 0; step *= from[d--]) {
        if (missing + d < 0 || (from[d] !== 1 && from[d] !== shape[missing + d]))
            throw new RangeError(`[${from}] does not broadcast to [${shape}]`);
        if (from[d] !== 1) strides[missing + d] = step;
    }
    return {dataType, shape: [...shape], strides};
}
