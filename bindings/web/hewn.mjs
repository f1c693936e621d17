// hewn for JavaScript: tensors in the memory of hewn.wasm, and operators on them. It is a layer
// over the C interface (include/hewn/hewn.h), and reads the operators from the library's table.
// hewn.d.ts documents all that is exported.

// The data types: their numbers (hewn_data_type), and the classes of their arrays. Some engines
// have no Float16Array. In these, an element of float16 is its 16 bits, as one of bfloat16 is
// everywhere. An element of a float of 8 bits is its code.
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
    float4e2m1: [21, Uint8Array],
    float6e3m2: [22, Uint8Array],
    float6e2m3: [23, Uint8Array],
    float8e8m0: [24, Uint8Array],
    float8e5m2fnuz: [25, Uint8Array],
    float8e5m2: [26, Uint8Array],
    float8e4m3fnuz: [27, Uint8Array],
    float8e4m3fn: [28, Uint8Array],
    bfloat16: [29, Uint16Array],
    uint2: [30, Uint8Array],
    int2: [31, Uint8Array],
};
const typeName = number => Object.keys(TYPES).find(name => TYPES[name][0] === number);
const ROLES = ['data', 'scale', 'zeroPoint', 'output'];
// The sizes of hewn.h's structs in words of 4 bytes. module.c checks them.
const WORDS = {error: 66, tensor: 6, operator: 3, options: 8, binding: 6, info: 12, tensorInfo: 9,
    attributeInfo: 7, variant: 8};
const ENOSYS = 52;
// The most bytes of one allocation. The C library grows the memory by a signed number of bytes, and
// ends the module if that is negative.
const LARGEST = 2 ** 31 - 2 ** 17;
// Some values of hewn_status.
const INVALID_ARGUMENT = 1, INVALID_BINDING = 3, OUT_OF_MEMORY = 5;

// The index of the word at a pointer. A pointer above 2 GiB may be a negative number.
const wordAt = pointer => pointer >>> 2;

/** The bits of the f16 that is nearest to a number. Ties go to the even one. */
export function toF16(value) {
    const magnitude = Math.abs(value), sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
    if (Number.isNaN(value)) return 0x7e00;
    // The magnitude in units of the last place of its exponent. Subnormals have the lowest
    // exponent.
    const exponent = magnitude < 2 ** -14 ? -14 : Math.floor(Math.log2(magnitude));
    const below = exponent > -14 && magnitude < 2 ** exponent ? exponent - 1 : exponent;
    const units = rint(magnitude / 2 ** (below - 10));
    const bits = units + ((below + 14) << 10);
    return sign | (magnitude === Infinity || bits > 0x7c00 ? 0x7c00 : bits);
}
/** The bits of the bf16 that is nearest to a number. Ties go to the even one. */
export function toBf16(value) {
    if (Number.isNaN(value)) return 0x7fc0;
    const word = new DataView(new ArrayBuffer(4));
    word.setFloat32(0, value);
    const cut = Math.abs(value) - Math.abs(word.getFloat32(0)), bits = word.getUint32(0);
    // Rounds to f32 "to odd" first: the last bit is 1 if any bits were cut off. So the second step
    // sees that the value is not a tie, and the result is as if it was rounded once.
    const odd = !cut || bits & 1 ? bits : cut < 0 ? bits - 1 : bits | 1;
    return (odd + 0x7fff + ((odd >>> 16) & 1)) >>> 16;
}

// Rounds to the nearest integer, ties to even.
const rint = x => (Math.abs(x) < 2 ** 51 ? x + 1.5 * 2 ** 52 - 1.5 * 2 ** 52 : x);

/** The typed array class of a data type. */
export function arrayOf(dataType) {
    if (!Object.hasOwn(TYPES, dataType)) throw new TypeError(`${shown(dataType)} is no data type`);
    return TYPES[dataType][1];
}

// A value in a message: "'u8'", "5", "a Float32Array".
function shown(value) {
    if (typeof value === 'string') return `'${value}'`;
    if (value === null || (typeof value !== 'object' && typeof value !== 'function'))
        return String(value);
    const name = Object.getPrototypeOf(value)?.constructor?.name;
    return name ? `${/^[AEIOU]/.test(name) ? 'an' : 'a'} ${name}` : 'an object';
}

/** An error of hewn. `status` is a hewn_status. */
export class HewnError extends Error {
    constructor(status, message) {
        super(message);
        this.name = 'HewnError';
        this.status = status;
    }
}

// JavaScript's names: quantizeLinear for "quantize_linear", aScale for "AScaleTensor", bfloat16 for
// "bf16", true for "1".
const operatorName = text => text.replace(/_./g, pair => pair[1].toUpperCase());
const tensorName = text => text[0].toLowerCase() + text.slice(1).replace(/Tensor$/, '');
const valueName = text => (/^[01]$/.test(text) ? text === '1' : text.replace(/f(?=\d)/, 'float'));

/** Loads the module from `source`, by default from the file next to this one. */
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
    // Engines compile while they read only if the server sends the right type.
    return /^application\/wasm\b/.test(source.headers.get('content-type'))
        ? WebAssembly.compileStreaming(source)
        : WebAssembly.compile(await source.arrayBuffer());
}

// fetch() of Node.js cannot open files.
async function opened(url) {
    if (!String(url).startsWith('file:') || !globalThis.process?.versions?.node) return fetch(url);
    // A bundler for browsers must leave this import alone. esbuild does, because the name is in a
    // variable; webpack and Vite do, because of the comments.
    const files = 'node:fs/promises';
    const {readFile} = await import(/* webpackIgnore: true */ /* @vite-ignore */ files);
    return readFile(new URL(url));
}

// The system calls that the C library imports. There is no system: the environment is empty, and
// other calls fail.
const systemCall = (name, memory) => (first, second) => {
    if (name === 'environ_sizes_get')
        for (const pointer of [first, second]) new Uint32Array(memory())[wordAt(pointer)] = 0;
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
    // The memory as words. When it grows, it becomes another buffer.
    get words() {
        const {buffer} = this.#exports.memory;
        if (this.#words?.buffer !== buffer) this.#words = new Uint32Array(buffer);
        return this.#words;
    }

    /** Makes a tensor in the module's memory. `values` are as for Tensor.set(). */
    tensor(desc, values) {
        const tensor = new Tensor(this, desc);
        try {
            if (values !== undefined) tensor.set(values);
        } catch (error) {
            tensor.destroy();
            throw error;
        }
        return tensor;
    }

    /** Compiles an operator. `descs` has a description for each of its tensors, by name. */
    compile(name, descs, options = {}) {
        if (!Object.hasOwn(this.operators, name))
            throw new TypeError(`${shown(name)} is no operator`);
        refuseOthers('compile()', ['constants', 'attributes', 'variant'], options);
        const row = this.operators[name], names = row.tensors.map(tensor => tensor.name);
        refuseOthers(name, names, descs);
        return this.within(scratch => {
            const pointers = names.map(key => (isAbsent(descs[key]) ? 0
                : this.#describe(scratch, descs[key], key)));
            const attributes = attributeWords(row, options.attributes ?? {});
            const words = [...pointers, ...attributes];
            const desc = scratch([4 * (1 + words.length), ...words]);
            const described = scratch([4 * WORDS.operator, row.type, desc]);
            const result = scratch([0]);
            const chosen = this.#options(scratch, row, options);
            this.check(this.#exports.hewn_compile(0, described, chosen, result, this.error()));
            return new Operator(this, this.#exports, row, this.words[wordAt(result)]);
        });
    }

    // ---- For Tensor and Operator ----

    bytesOf(desc) {
        return this.within(scratch => {
            const size = scratch([0, 0]);
            const tensor = this.#describe(scratch, desc, 'desc');
            this.check(this.#exports.hewn_tensor_size(tensor, size, this.error()));
            return this.words[wordAt(size)] + this.words[wordAt(size) + 1] * 2 ** 32;
        });
    }

    allocate(bytes) {
        const pointer = bytes <= LARGEST ? this.#exports.malloc(Math.max(bytes, 1)) >>> 0 : 0;
        if (!pointer) throw new HewnError(OUT_OF_MEMORY, `hewn: no memory for ${bytes} bytes`);
        return pointer;
    }
    free(pointer) { this.#exports.free(pointer); }

    error() {
        this.words[wordAt(this.#error)] = 4 * WORDS.error;
        return this.#error;
    }
    check(status) {
        if (status) throw new HewnError(status, this.text(this.#error + 8));
    }
    text(pointer) {
        const bytes = new Uint8Array(this.memory.buffer, pointer >>> 0);
        return new TextDecoder().decode(bytes.slice(0, bytes.indexOf(0)));
    }

    // Calls use(scratch). scratch(words) copies the words into memory that is freed when use() has
    // ended, and returns the pointer.
    within(use) {
        const pointers = [];
        const scratch = words => {
            const pointer = this.allocate(4 * words.length);
            pointers.push(pointer);
            this.words.set(words, wordAt(pointer));
            return pointer;
        };
        try {
            return use(scratch);
        } finally {
            for (const pointer of pointers) this.free(pointer);
        }
    }

    #describe(scratch, desc, what) {
        const {dataType, shape, strides, blockSizes} = copied(desc, what);
        const numbers = values => (values ? scratch(values.flatMap(int64)) : 0);
        const pointers = [shape, strides, blockSizes].map(numbers);
        return scratch([4 * WORDS.tensor, TYPES[dataType][0], shape.length, ...pointers]);
    }

    #options(scratch, row, {constants = {}, variant = ''}) {
        const inputs = inputsOf(row).map(tensor => tensor.name);
        refuseOthers(`a constant of ${row.name}`, inputs, constants);
        const tensors = inputs.map(name => Tensor.of(this, name, constants[name]));
        const given = tensors.some(tensor => tensor);
        const bindings = tensors.flatMap(bindingWords);
        if (typeof variant !== 'string' || variant.includes('\0'))
            throw new TypeError(`variant: ${shown(variant)}, expected a name of hewn.variants`);
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
            return this.words.slice(wordAt(at), wordAt(at) + words);
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
        const {attributeInfo: size} = WORDS;
        let choice = [];  // the values of the choice before a parameter
        this.within(scratch => {
            const at = scratch([4 * size, ...Array(size - 1).fill(0)]), first = wordAt(at);
            while (get(operator, attributes.length, 0, at) === 0) {
                const [, name, words, count, allowed, known, of] =
                    this.words.slice(first, first + size);
                const pointers = [...this.words.slice(wordAt(words), wordAt(words) + known)];
                const all = pointers.map(pointer => valueName(this.text(pointer)));
                if (!of) choice = all;
                attributes.push({
                    name: this.text(name), values: all.slice(0, allowed ? count : 1),
                    refused: all.slice(count), of: choice.filter((_, i) => (of >>> i) & 1),
                });
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

const isAbsent = value => value === undefined || value === null;
const inputsOf = row => row.tensors.filter(({role}) => role !== 'output');

function refuseOthers(what, names, given) {
    for (const name of Object.keys(given))
        if (!names.includes(name)) throw new TypeError(`${what} has no ${name}: ${names}`);
}

// The words for attributes, which follow the tensors in a description: a number for each, and an
// even number of words.
function attributeWords(row, given) {
    const names = row.attributes.map(({name}) => name);
    refuseOthers(row.name, names, given);
    let choice, chosen, first;  // the choice before a parameter, its value, and its default
    const words = row.attributes.map(({name, values, refused, of}) => {
        const value = given[name];
        if (of.length) {  // 0 is a default if the choice's default has the parameter
            if (isAbsent(value) && of.includes(chosen) && !of.includes(first))
                throw new TypeError(`${name}: is missing; ${choice} ${chosen} needs it`);
            return parameterWord(name, value ?? 0);
        }
        [choice, chosen, first] = [name, value ?? values[0], values[0]];
        const number = [...values, ...refused].indexOf(chosen);
        if (number < 0) throw new TypeError(`${name}: ${shown(value)} is none of ${values}`);
        return number;
    });
    return words.length % 2 ? [...words, 0] : words;
}

// The bits of a parameter, which is an f32.
function parameterWord(name, value) {
    if (typeof value !== 'number') throw new TypeError(`${name}: ${shown(value)} is no number`);
    const word = new DataView(new ArrayBuffer(4));
    word.setFloat32(0, value);
    return word.getUint32(0);
}

// The two words of a 64-bit integer.
const int64 = value => [value >>> 0, Math.floor(value / 2 ** 32) >>> 0];

// A checked copy of a description, because the caller may change the original. `what` is the name
// of the tensor, for messages.
function copied(desc, what) {
    if (typeof desc !== 'object' || desc === null)
        throw new TypeError(`${what}: ${shown(desc)}, expected {dataType, shape}`);
    const {dataType, ...lists} = {dataType: desc.dataType, shape: desc.shape};
    for (const name of ['strides', 'blockSizes'])
        if (!isAbsent(desc[name])) lists[name] = desc[name];
    arrayOf(dataType);
    for (const [name, list] of Object.entries(lists)) {
        if (!Array.isArray(list))
            throw new TypeError(`${what}: ${name} is ${shown(list)}, expected an Array`);
        lists[name] = Array.from(list);
        const wrong = lists[name].find(value => !Number.isSafeInteger(value));
        if (lists[name].some(value => !Number.isSafeInteger(value)))
            throw new TypeError(`${what}: ${name}: ${shown(wrong)} is no whole number`);
        if (lists[name].length !== lists.shape.length)
            throw new TypeError(`${what}: ${name} [${list}] and the shape [${lists.shape}] ` +
                'differ in length');
    }
    return {dataType, ...lists};
}

// The words of a binding. Tensor.of() has checked the tensor.
const bindingWords = tensor => [4 * WORDS.binding, tensor?.pointer ?? 0, 0, 0,
    tensor?.byteLength ?? 0, 0];

// The values as an array that TypedArray.set() can take without failing midway.
function elements(dataType, length, values) {
    const isView = ArrayBuffer.isView(values) && !(values instanceof DataView);
    if (!isView && (typeof values !== 'object' || !Number.isSafeInteger(values?.length)))
        throw new TypeError(`values: ${shown(values)}, expected an array`);
    if (values.length !== length) {
        const isPacked = /^(u?int|float)[246]($|e)/.test(dataType);
        const what = isPacked ? `bytes, which are ${dataType}s` : 'elements';
        throw new TypeError(`${values.length} values for ${length} ${what}`);
    }
    const type = arrayOf(dataType);
    // For float16 and bfloat16, a Uint16Array has the elements' bits, and every other array has
    // numbers, whichever class this engine has for float16.
    const toBits = {float16: toF16, bfloat16: toBf16}[dataType];
    if (toBits && type === Uint16Array && !(values instanceof Uint16Array))
        return Uint16Array.from(values, value => toBits(+value));
    if (dataType === 'float16' && type !== Uint16Array && values instanceof Uint16Array)
        return new type(values.buffer, values.byteOffset, values.length);
    return isView ? values : type.from(values);
}

export class Tensor {
    #hewn;
    #pointer = 0;
    #byteLength;
    #Array;

    /** Checks a tensor that is to be bound as `name`. Returns it, or undefined if it is absent. */
    static of(hewn, name, tensor) {
        if (isAbsent(tensor)) return undefined;
        if (typeof tensor !== 'object' || !(#hewn in tensor))
            throw new TypeError(`${name}: ${shown(tensor)}, expected a Tensor of hewn.tensor()`);
        if (tensor.#hewn !== hewn)
            throw new TypeError(`${name}: a Tensor of another module, which has another memory`);
        tensor.#check(name);
        return tensor;
    }

    constructor(hewn, desc) {
        this.#hewn = hewn;
        Object.assign(this, copied(desc, 'desc'));
        this.#Array = arrayOf(this.dataType);
        this.#byteLength = hewn.bytesOf(this);
        this.#pointer = hewn.allocate(this.#byteLength);
    }

    get pointer() { return this.#pointer; }
    get byteLength() { return this.#byteLength; }
    get length() { return this.#byteLength / this.#Array.BYTES_PER_ELEMENT; }
    get data() { return this.#view('data', this.#Array, this.length); }
    get bytes() { return this.#view('bytes', Uint8Array, this.#byteLength); }

    set(values) {
        this.#check('set()');
        const given = elements(this.dataType, this.length, values);
        this.data.set(given);
    }

    destroy() {
        if (this.#pointer) this.#hewn.free(this.#pointer);
        this.#pointer = 0;
    }

    #view(what, type, length) {
        this.#check(what);
        return new type(this.#hewn.memory.buffer, this.#pointer, length);
    }
    #check(what) {
        if (!this.#pointer)
            throw new HewnError(INVALID_BINDING, `${what}: the tensor was destroyed`);
    }
}

export class Operator {
    #hewn;
    #exports;
    #handle;
    #bindings;
    #names;
    #name;
    #inputs;  // the number of inputs

    constructor(hewn, exports, row, handle) {
        [this.#hewn, this.#exports, this.#handle] = [hewn, exports, handle];
        [this.#name, this.#names] = [row.name, row.tensors.map(tensor => tensor.name)];
        this.#inputs = inputsOf(row).length;
        this.variant = hewn.text(exports.hewn_operator_variant(handle));
        try {
            this.#bindings = hewn.allocate(4 * WORDS.binding * this.#names.length);
        } catch (error) {
            exports.hewn_destroy_operator(handle);
            throw error;
        }
        hewn.words.set(this.#names.flatMap(() => bindingWords()), wordAt(this.#bindings));
    }

    run(tensors) {
        const names = this.#names, hewn = this.#hewn, inputs = this.#inputs;
        refuseOthers(this.#name, names, tensors);
        // `tensors` may have getters, which can do anything. So all are read before anything is
        // written.
        const given = names.map(name => tensors[name]);
        if (!this.#handle)
            throw new HewnError(INVALID_ARGUMENT, `${this.#name}: the operator was destroyed`);
        const bound = given.map((tensor, i) => Tensor.of(hewn, names[i], tensor));
        const {words} = hewn;
        bound.forEach((tensor, i) => {
            const at = wordAt(this.#bindings) + i * WORDS.binding;
            words[at + 1] = tensor ? tensor.pointer : 0;
            words[at + 4] = tensor ? tensor.byteLength : 0;
        });
        const output = this.#bindings + 4 * WORDS.binding * inputs;
        hewn.check(this.#exports.hewn_execute(this.#handle, this.#bindings, inputs, output,
            names.length - inputs, 0, hewn.error()));
    }

    destroy() {
        if (!this.#handle) return;
        this.#exports.hewn_destroy_operator(this.#handle);
        this.#hewn.free(this.#bindings);
        this.#handle = this.#bindings = 0;
    }
}

// ---- Descriptions ----

/** The description of one element that is repeated over a shape. */
export const repeated = (dataType, shape) => ({dataType, shape, strides: shape.map(() => 0)});

/** The description of a tensor with an element for each index of a dimension. It is repeated over
 * the other dimensions. */
export function alongAxis(dataType, shape, axis) {
    if (!Object.hasOwn(shape, axis))
        throw new TypeError(`axis ${shown(axis)}: the shape [${shape}] has no such dimension`);
    return {dataType, shape, strides: shape.map((_, d) => (d === axis ? 1 : 0))};
}

/** The description of a contiguous tensor that is broadcast to a shape by NumPy's rule. */
export function broadcast({dataType, shape: from}, shape) {
    const strides = shape.map(() => 0), missing = shape.length - from.length;
    for (let d = from.length - 1, step = 1; d >= 0; step *= from[d--]) {
        if (missing + d < 0 || (from[d] !== 1 && from[d] !== shape[missing + d]))
            throw new TypeError(`[${from}] does not broadcast to [${shape}]`);
        if (from[d] !== 1) strides[missing + d] = step;
    }
    return {dataType, shape: [...shape], strides};
}
