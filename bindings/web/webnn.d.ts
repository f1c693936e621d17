import type {CompileOptions, DataType, Hewn, Operator, TensorDesc} from './hewn.js';

/** Scale and zero point are broadcast blockwise to the input, as WebNN says. The operator's tensors
 * are input, scale, zeroPoint and output, which has the zero point's type. */
export function quantizeLinear(hewn: Hewn, input: TensorDesc, scale: TensorDesc,
    zeroPoint: TensorDesc, options?: CompileOptions<'quantizeLinear'>): Operator<'quantizeLinear'>;
/** The same; the output has the scale's type. */
export function dequantizeLinear(hewn: Hewn, input: TensorDesc, scale: TensorDesc,
    zeroPoint: TensorDesc,
    options?: CompileOptions<'dequantizeLinear'>): Operator<'dequantizeLinear'>;
/** a + b, broadcast in both directions to broadcastShape(a.shape, b.shape). */
export function add(hewn: Hewn, a: TensorDesc, b: TensorDesc): Operator<'add'>;
/** The shape that two shapes are broadcast to. */
export function broadcastShape(a: readonly number[], b: readonly number[]): number[];
/** What these operators take, as MLContext.opSupportLimits() says it. */
export function opSupportLimits(hewn: Hewn): Record<string,
    Record<string, {dataTypes: DataType[]; rankRange: {min: number; max: number}}>>;
