// Checks what TypeScript accepts and refuses of the package. This file is compiled and never run.
// Each line below a `@ts-expect-error` must be an error, and no other line.
import {alongAxis, arrayOf, broadcast, HewnError, load, repeated} from 'hewn-kernels';
import type {DataType, Hewn, Operator, OperatorInfo, Tensor, TensorDesc} from 'hewn-kernels';
import {add, broadcastShape, opSupportLimits, quantizeLinear} from 'hewn-kernels/webnn';
import {verify, type Verified} from 'hewn-kernels/verify';

export async function taken(bytes: Uint8Array): Promise<number> {
    const hewn: Hewn = await load(), other: Hewn = await load(bytes);
    const input: TensorDesc = {dataType: 'float32', shape: [2, 3]};
    const scale: TensorDesc = alongAxis('float32', input.shape, 1);
    const output = {dataType: 'uint8', shape: [2, 3]} as const;
    const x: Tensor = hewn.tensor(input, [1, 2, 3, 4, 5, 6]), y = hewn.tensor(output);
    const constants = {scale: hewn.tensor(repeated('float32', [2, 3]), Float32Array.of(1))};
    const operator: Operator<'quantizeLinear'> =
        hewn.compile('quantizeLinear', {input, scale, output},
            {constants, variant: 'any', attributes: {precision: 'bfloat16', saturate: false}});
    operator.run({input: x, output: y});
    const codes: TensorDesc = {dataType: 'float8e4m3fn', shape: [2, 3]};
    hewn.compile('dequantizeLinear', {input: codes, scale, output: input}).destroy();
    hewn.compile('add1', {a: input, b: input, output: input},
        {attributes: {activation: 'leaky_relu', alpha: 0.1}}).destroy();
    const info: OperatorInfo = other.operators.add, wide = broadcast(input, [4, 2, 3]);
    const types: DataType[] = info.tensors[0]!.types;
    const sum: Operator<'add'> = add(hewn, input, wide);
    quantizeLinear(hewn, input, scale, output).destroy();
    const found: Verified[] = verify(hewn, 7);
    const limits = opSupportLimits(hewn).add!.a!.rankRange.max;
    return found[0]!.differing + arrayOf('int4').length + types.length + sum.variant.length +
        broadcastShape([1], [2]).length + limits;
}

export function refused(hewn: Hewn, f32: TensorDesc, error: unknown): void {
    // @ts-expect-error: no such operator
    hewn.compile('adds', {a: f32, b: f32, output: f32});
    // @ts-expect-error: the output is missing
    hewn.compile('add', {a: f32, b: f32});
    // @ts-expect-error: no such tensor
    hewn.compile('add', {a: f32, b: f32, output: f32, scale: f32});
    // @ts-expect-error: no such attribute
    hewn.compile('add', {a: f32, b: f32, output: f32}, {attributes: {precision: 'float16'}});
    // @ts-expect-error: the attribute is no number
    hewn.compile('quantizeLinear', {input: f32, scale: f32, output: f32}, {attributes: {saturate: 1}});
    // @ts-expect-error: hewn does not compute this activation
    hewn.compile('add1', {a: f32, b: f32, output: f32}, {attributes: {activation: 'tanh'}});
    // @ts-expect-error: no such type
    hewn.tensor({dataType: 'float', shape: [1]});
    // @ts-expect-error: descriptions have no memory to run on
    hewn.compile('add', {a: f32, b: f32, output: f32}).run({a: f32});
    // @ts-expect-error: it has a number
    if (error instanceof HewnError) error.status.length;
}
