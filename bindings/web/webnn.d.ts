import type {CompileOptions, DataType, Hewn, Operator, TensorDesc} from './hewn.js';

/** WebNN's quantizeLinear: compiles the operator for these descriptions, {dataType, shape}. Scale
 * and zero point are broadcast blockwise to the input, as WebNN says: in each dimension the input's
 * size is a multiple of theirs. The operator's tensors are input, scale, zeroPoint and output. The
 * output has the shape of the input and the type of the zero point. Throws a TypeError if the
 * shapes do not broadcast, HewnError if hewn refuses the types. */
export function quantizeLinear(hewn: Hewn, input: TensorDesc, scale: TensorDesc,
    zeroPoint: TensorDesc, options?: CompileOptions<'quantizeLinear'>): Operator<'quantizeLinear'>;
/** WebNN's dequantizeLinear, likewise. The output has the type of the scale. */
export function dequantizeLinear(hewn: Hewn, input: TensorDesc, scale: TensorDesc,
    zeroPoint: TensorDesc,
    options?: CompileOptions<'dequantizeLinear'>): Operator<'dequantizeLinear'>;
/** WebNN's add: compiles a + b. Both are broadcast by NumPy's rule, and the output has the shape
 * broadcastShape(a.shape, b.shape) and the type of a. */
export function add(hewn: Hewn, a: TensorDesc, b: TensorDesc): Operator<'add'>;
/** The shape to which NumPy's rule broadcasts two shapes. Throws a TypeError if there is none. */
export function broadcastShape(a: readonly number[], b: readonly number[]): number[];
/** The types and numbers of dimensions that these three operators take, in the form of WebNN's
 * MLContext.opSupportLimits(). */
export function opSupportLimits(hewn: Hewn): Record<string,
    Record<string, {dataTypes: DataType[]; rankRange: {min: number; max: number}}>>;
