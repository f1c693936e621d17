import type {Attributes, Operators} from './operators.js';

export type {Attributes, Operators};

export type DataType = 'float32' | 'float16' | 'bfloat16' | 'uint64' | 'int64' | 'uint32' |
    'int32' | 'uint16' | 'int16' | 'uint8' | 'int8' | 'uint4' | 'int4' | 'uint2' | 'int2';

/** A tensor's type and layout. Dimensions go from the outermost to the innermost. */
export interface TensorDesc {
    dataType: DataType;
    /** Sizes in elements, at most 8; [] is one element. */
    shape: readonly number[];
    /** In elements; 0 repeats an input's elements. Absent: contiguous, row-major. */
    strides?: readonly number[];
    /** Of a scale or zero point: how many elements of each dimension share one. Absent: 1. */
    blockSizes?: readonly number[];
}

/** What hewn refuses; the message names the tensor and the rule. An argument of the wrong
 * JavaScript type, or of the wrong length, is a TypeError. */
export class HewnError extends Error {
    /** A hewn_status of hewn.h. */
    readonly status: number;
}

/** A tensor in the module's memory, which operators use where it lies. */
export class Tensor implements TensorDesc {
    readonly dataType: DataType;
    readonly shape: readonly number[];
    readonly strides?: readonly number[];
    readonly blockSizes?: readonly number[];
    /** In memory, from the first element to the end of the last; of packed types in bytes. */
    readonly length: number;
    readonly byteLength: number;
    /** A view of the elements, of the class that arrayOf() gives. What allocates memory (a tensor,
     * compile()) may move it: take a new view after that. */
    get data(): any;
    /** The same of the bytes. */
    get bytes(): Uint8Array;
    /** Copies as many values as the tensor has, converted as typed arrays convert numbers. For
     * float16 and bfloat16 a Uint16Array has the elements' bits, in every engine; all else has
     * numbers. */
    set(values: ArrayLike<number> | ArrayLike<bigint>): void;
    /** Gives the memory back. JavaScript's garbage collector does not. After that `data`, `bytes`,
     * set() and operators refuse the tensor. */
    destroy(): void;
}

export interface CompileOptions<N extends keyof Operators<unknown>> {
    /** Inputs that never change, scales and zero points above all: tensors, which are read now and
     * not bound by run(). */
    constants?: Partial<Operators<Tensor>[N]>;
    /** ONNX's attributes of the operator. */
    attributes?: Attributes[N];
    /** Forces a kernel of Hewn.variants. */
    variant?: string;
}

/** A compiled operator. */
export class Operator<N extends keyof Operators<unknown> = any> {
    /** Its kernel: quantize_linear_f32_u8__wasm32_simd128 */
    readonly variant: string;
    /** Executes it; `tensors` need at least the memory that their descriptions said. */
    run(tensors: Partial<Operators<Tensor>[N]>): void;
    destroy(): void;
}

/** An operator as the table has it. */
export interface OperatorInfo {
    name: string;
    formula: string;
    maxRank: number;
    tensors: {
        name: string;
        role: 'data' | 'scale' | 'zeroPoint' | 'output';
        optional: boolean;
        oneElement: boolean;
        /** The index of the tensor whose type it has; -1: any of `types`. */
        like: number;
        types: DataType[];
    }[];
    /** The first value is the default. */
    attributes: {name: string; values: string[]}[];
}

export class Hewn {
    readonly version: string;
    readonly operators: Readonly<Record<keyof Operators<unknown>, OperatorInfo>>;
    /** The module's kernels. */
    readonly variants: readonly {name: string; operator: string; signature: string}[];
    readonly memory: WebAssembly.Memory;
    /** A tensor with these values, or whatever was in the memory. */
    tensor(desc: TensorDesc, values?: ArrayLike<number> | ArrayLike<bigint>): Tensor;
    /** An operator for tensors of these descriptions, of which a Tensor is one. Of those that may
     * be absent a zero point is then 0. */
    compile<N extends keyof Operators<unknown>>(
        operator: N, descs: Operators<TensorDesc>[N], options?: CompileOptions<N>): Operator<N>;
}

/** Loads the module: its URL, bytes, a Response (both also as a promise) or what is compiled
 * already. By default hewn.wasm beside this file. Compiles while it reads where the server says
 * application/wasm. */
export function load(source?: string | URL | BufferSource | Response | WebAssembly.Module |
    Promise<BufferSource | Response | WebAssembly.Module>): Promise<Hewn>;

/** The typed array class of a data type. Those of 4 and 2 bits are bytes, in which the first
 * element has the lowest bits. float16's is Float16Array, or where the engine has none
 * Uint16Array, of the elements' bits, as bfloat16's is everywhere. */
export function arrayOf(dataType: DataType): any;
/** One element for all of a shape. */
export function repeated(dataType: DataType, shape: readonly number[]): TensorDesc;
/** An element for each index of a dimension. */
export function alongAxis(dataType: DataType, shape: readonly number[], axis: number): TensorDesc;
/** A contiguous tensor that is broadcast to a shape by NumPy's rule. */
export function broadcast(desc: TensorDesc, shape: readonly number[]): TensorDesc;
