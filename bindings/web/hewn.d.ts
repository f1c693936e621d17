import type {Attributes, Operators} from './operators.js';

export type {Attributes, Operators};

export type DataType = 'float32' | 'float16' | 'bfloat16' | 'uint64' | 'int64' | 'uint32' |
    'int32' | 'uint16' | 'int16' | 'uint8' | 'int8' | 'uint4' | 'int4' | 'uint2' | 'int2' |
    'float8e4m3fn' | 'float8e4m3fnuz' | 'float8e5m2' | 'float8e5m2fnuz' | 'float8e8m0' |
    'float6e2m3' | 'float6e3m2' | 'float4e2m1';

/** A tensor's type and layout, without memory. The arrays have one number for each dimension, from
 * the outermost to the innermost. */
export interface TensorDesc {
    dataType: DataType;
    /** The size of each of the dimensions, of which there are at most 8. [] is one element. */
    shape: readonly number[];
    /** The distance between neighbours in each dimension, in elements, also for types of less than 8
     * bits. 0 repeats an input's elements. By default the tensor is contiguous and row-major. */
    strides?: readonly number[];
    /** For a scale or zero point: how many elements of each dimension share one of its elements. By
     * default 1. */
    blockSizes?: readonly number[];
}

/** Thrown where hewn refuses something: descriptions that do not go together, a destroyed tensor or
 * operator, too little memory. The message names the tensor and the rule, and nothing has been
 * written. An argument of the wrong JavaScript type or length throws a TypeError instead. */
export class HewnError extends Error {
    /** A number of hewn_status in hewn.h: 1 invalid argument, 2 unsupported, 3 invalid binding, 4
     * no such kernel, 5 out of memory. */
    readonly status: number;
}

/** A tensor in the module's memory, made by Hewn.tensor(). Operators read and write it in place. */
export class Tensor implements TensorDesc {
    readonly dataType: DataType;
    readonly shape: readonly number[];
    readonly strides?: readonly number[];
    readonly blockSizes?: readonly number[];
    /** The number of elements in memory, from the first to the last, including those that strides
     * skip. For types of less than 8 bits: the number of bytes. */
    readonly length: number;
    /** The number of bytes in memory. */
    readonly byteLength: number;
    /** A view of the elements in memory, as a typed array of the class that arrayOf() returns. When
     * hewn allocates memory (tensor(), compile()), older views may become empty: take a new one
     * after that. */
    get data(): any;
    /** The same memory as bytes. */
    get bytes(): Uint8Array;
    /** Copies `length` values into the tensor. Numbers are converted as typed arrays convert them.
     * A Uint16Array that is given for float16 or bfloat16 holds the elements' bits. For floats of 8
     * bits and for types of less than 8 bits, the values are the bytes in memory, whatever the class
     * of the array. Throws a TypeError if the number of values is another, and then writes nothing. */
    set(values: ArrayLike<number> | ArrayLike<bigint>): void;
    /** Frees the memory, which JavaScript's garbage collector does not do. After that `data`,
     * `bytes`, set() and operators refuse the tensor. */
    destroy(): void;
}

export interface CompileOptions<N extends keyof Operators<unknown>> {
    /** Inputs that never change, mostly scales and zero points. The tensors are read by compile()
     * and are not passed to run(); you may destroy them afterwards. */
    constants?: Partial<Operators<Tensor>[N]>;
    /** Attributes of the operator: choices, and the parameters of what is chosen. */
    attributes?: Attributes[N];
    /** The name of a kernel in Hewn.variants, to use instead of the one that hewn would choose. */
    variant?: string;
}

/** A compiled operator, made by Hewn.compile(). */
export class Operator<N extends keyof Operators<unknown> = any> {
    /** The name of its kernel, such as quantize_linear_f32_u8__wasm32_simd128. */
    readonly variant: string;
    /** Computes the outputs, and returns when they are written. `tensors` has a Tensor for each
     * tensor that the operator was compiled with, except the constants. Their descriptions may
     * differ from those given to compile(): the operator uses its own, and needs at least that much
     * memory. Throws HewnError or TypeError, and then has written nothing. */
    run(tensors: Partial<Operators<Tensor>[N]>): void;
    /** Frees the operator's memory. After that run() refuses. */
    destroy(): void;
}

/** An operator as hewn's operator table describes it. */
export interface OperatorInfo {
    /** In camel case: quantizeLinear. */
    name: string;
    formula: string;
    /** The most dimensions that its tensors may have. */
    maxRank: number;
    /** Its tensors in order, the outputs last. */
    tensors: {
        name: string;
        role: 'data' | 'scale' | 'zeroPoint' | 'output';
        /** Whether it may be left out. */
        optional: boolean;
        /** Whether it has one element, whatever the shape of the others. */
        oneElement: boolean;
        /** The index of the tensor whose type it must have; -1: it may have any of `types`. */
        like: number;
        types: DataType[];
    }[];
    /** An attribute is a choice or a parameter. */
    attributes: {
        name: string;
        /** Of a choice, the default first. */
        values: (string | boolean)[];
        /** Of a choice: values that compile() refuses because hewn does not compute them. */
        refused: string[];
        /** Of a parameter, which is a number: the values of the choice before it that need it. */
        of: string[];
    }[];
}

/** A loaded module, with a memory of its own of at most 4 GiB. */
export class Hewn {
    /** The version of hewn, such as 0.2.0. */
    readonly version: string;
    /** The operators by name. */
    readonly operators: Readonly<Record<keyof Operators<unknown>, OperatorInfo>>;
    /** The module's kernels. `signature` has the types that tell an operator's kernels apart, such
     * as f32_u8. */
    readonly variants: readonly {name: string; operator: string; signature: string}[];
    /** The memory in which the tensors are. */
    readonly memory: WebAssembly.Memory;
    /** Makes a tensor of less than 2 GiB and copies the values into it, as Tensor.set() does.
     * Without values its elements are arbitrary. Call destroy() when you no longer need it. */
    tensor(desc: TensorDesc, values?: ArrayLike<number> | ArrayLike<bigint>): Tensor;
    /** Compiles an operator for tensors of these descriptions; a Tensor is a description too. A
     * zero point that is left out is 0; for `quantize` and `dequantize` with an unsigned type it is
     * the middle of the type's range. Call destroy() when you no longer need the operator. */
    compile<N extends keyof Operators<unknown>>(
        operator: N, descs: Operators<TensorDesc>[N], options?: CompileOptions<N>): Operator<N>;
}

/** Loads hewn.wasm. `source` is its URL, its bytes, a Response, a compiled module, or a promise of
 * one of the last three; by default the URL of hewn.wasm next to this file. The engine compiles it
 * while it downloads if the server sends it as application/wasm. */
export function load(source?: string | URL | BufferSource | Response | WebAssembly.Module |
    Promise<BufferSource | Response | WebAssembly.Module>): Promise<Hewn>;

/** The class of typed array that Tensor.data is for a data type. For float16 it is Float16Array; in
 * engines without that class, and for bfloat16 always, it is a Uint16Array with the elements' bits.
 * For floats of 8 bits it is a Uint8Array of the elements' codes, which are their bits. For types of
 * less than 8 bits it is a Uint8Array; the first element is in a byte's lowest bits, and an element of
 * 6 bits may be in two bytes. */
export function arrayOf(dataType: DataType): any;
/** Describes one element that serves a whole shape, such as one scale for a tensor. */
export function repeated(dataType: DataType, shape: readonly number[]): TensorDesc;
/** Describes one element for each index of dimension `axis`, such as a scale for each channel.
 * `axis` is from 0 to shape.length - 1. */
export function alongAxis(dataType: DataType, shape: readonly number[], axis: number): TensorDesc;
/** Describes a contiguous tensor of the shape of `desc`, broadcast to `shape` by NumPy's rule.
 * Throws a TypeError if the rule does not allow it. */
export function broadcast(desc: TensorDesc, shape: readonly number[]): TensorDesc;
