// WebNN's operators, computed by hewn. A description is WebNN's MLOperandDescriptor, {dataType,
// shape}. Each function compiles one of hewn's operators, which then takes tensors of those shapes.
// webnn.d.ts documents the functions.
import {broadcast} from './hewn.mjs';

// The shape with `rank` dimensions: sizes of 1 are put in front.
const padded = (shape, rank) => [...Array(Math.max(rank - shape.length, 0)).fill(1), ...shape];

function refuseNoShape(...shapes) {
    for (const shape of shapes)
        if (!Array.isArray(shape)) throw new TypeError('shape: expected an Array of numbers');
}

// The description of a scale or zero point over `shape`. `from` is its own shape, which says how
// many blocks each dimension has.
function inBlocks({dataType, shape: from}, shape) {
    refuseNoShape(from, shape);
    const blocks = padded(from, shape.length);
    const fits = blocks.length === shape.length && blocks.every((n, d) => n && shape[d] % n === 0);
    if (!fits) throw new TypeError(`[${from}] does not broadcast blockwise to [${shape}]`);
    return {dataType, shape, blockSizes: blocks.map((n, d) => shape[d] / n || 1)};
}

function linear(hewn, name, input, scale, zeroPoint, dataType, options) {
    const {shape} = input;
    const parameters = {scale: inBlocks(scale, shape), zeroPoint: inBlocks(zeroPoint, shape)};
    return hewn.compile(name, {input, ...parameters, output: {dataType, shape}}, options);
}

/** quantizeLinear(input, scale, zeroPoint): the output has the zero point's data type. */
export const quantizeLinear = (hewn, input, scale, zeroPoint, options) =>
    linear(hewn, 'quantizeLinear', input, scale, zeroPoint, zeroPoint.dataType, options);

/** dequantizeLinear(input, scale, zeroPoint): the output has the scale's data type. */
export const dequantizeLinear = (hewn, input, scale, zeroPoint, options) =>
    linear(hewn, 'dequantizeLinear', input, scale, zeroPoint, scale.dataType, options);

/** The shape to which two shapes are broadcast. */
export function broadcastShape(a, b) {
    refuseNoShape(a, b);
    const rank = Math.max(a.length, b.length), [left, right] = [padded(a, rank), padded(b, rank)];
    return left.map((size, d) => {
        if (size !== right[d] && size !== 1 && right[d] !== 1)
            throw new TypeError(`[${a}] and [${b}] do not broadcast to one shape`);
        return size === 1 ? right[d] : size;
    });
}

/** add(a, b), broadcast in both directions. */
export function add(hewn, a, b) {
    const shape = broadcastShape(a.shape, b.shape), output = {dataType: a.dataType, shape};
    return hewn.compile('add', {a: broadcast(a, shape), b: broadcast(b, shape), output});
}

/** The types and ranks that these operators take, in the form of MLContext.opSupportLimits(). */
export function opSupportLimits(hewn) {
    const limits = name => {
        const {tensors, maxRank} = hewn.operators[name];
        const typesOf = ({types, like}) => (types.length ? types : typesOf(tensors[like]));
        const rankRange = {min: 0, max: maxRank};
        return Object.fromEntries(tensors.map(tensor =>
            [tensor.name, {dataTypes: typesOf(tensor), rankRange}]));
    };
    return Object.fromEntries(['add', 'quantizeLinear', 'dequantizeLinear'].map(name =>
        [name, limits(name)]));
}
