// Measures hewn's package for JavaScript on an engine of JavaScript:
//
//     node bench/bindings/web.mjs PACKAGE [ELEMENTS]
//
// PACKAGE is the folder of hewn.mjs. Prints a Markdown table of elements per nanosecond for each
// operator: by hewn, by a plain loop that rounds as the formula does and so gives the same bits,
// and by the usual loop, whose results may differ.
import {resolve} from 'node:path';
import {pathToFileURL} from 'node:url';

const [folder, count = 16384] = process.argv.slice(2);
const {load, repeated} = await import(new URL('hewn.mjs', pathToFileURL(resolve(folder) + '/')));
const hewn = await load(), elements = Number(count), shape = [elements];
const RUNS = 60, BATCHES = 25;

const toEven = x => x + 1.5 * 2 ** 52 - 1.5 * 2 ** 52;
const clamp = x => Math.min(Math.max(x, 0), 255);
const f32 = Math.fround;

// The operators. `tensors` is {name: [type, whether it is one element, value of element i]};
// `exact` and `usual` are the loops.
const wave = i => Math.sin(i) * 40 + 40, byte = i => (i * 7919) & 255;
const zeroPoints = t => [t.aZeroPoint[0], t.bZeroPoint[0], t.outputZeroPoint[0]];
const CASES = {
    add: {
        tensors: {a: ['float32', 0, wave], b: ['float32', 0, wave], output: ['float32', 0]},
        exact: ({a, b, output}) => { for (let i = 0; i < elements; i++) output[i] = a[i] + b[i]; },
    },
    quantizeLinear: {
        tensors: {input: ['float32', 0, wave], scale: ['float32', 1, () => 0.3],
            output: ['uint8', 0]},
        exact({input, scale: [scale], output}) {
            for (let i = 0; i < elements; i++) output[i] = clamp(toEven(f32(input[i] / scale)));
        },
        usual({input, scale: [scale], output}) {
            for (let i = 0; i < elements; i++) output[i] = clamp(Math.round(input[i] / scale));
        },
    },
    dequantizeLinear: {
        tensors: {input: ['uint8', 0, byte], scale: ['float32', 1, () => 0.3],
            zeroPoint: ['uint8', 1, () => 128], output: ['float32', 0]},
        exact({input, scale: [scale], zeroPoint: [zero], output}) {
            for (let i = 0; i < elements; i++) output[i] = (input[i] - zero) * scale;
        },
    },
    quantizedLinearAdd: {
        tensors: {a: ['uint8', 0, byte], aScale: ['float32', 1, () => 0.3],
            aZeroPoint: ['uint8', 1, () => 100], b: ['uint8', 0, byte],
            bScale: ['float32', 1, () => 0.2], bZeroPoint: ['uint8', 1, () => 50],
            outputScale: ['float32', 1, () => 0.4], outputZeroPoint: ['uint8', 1, () => 9],
            output: ['uint8', 0]},
        exact(t) {
            const [aScale, bScale, scale] = [t.aScale[0], t.bScale[0], t.outputScale[0]];
            const [aZero, bZero, zero] = zeroPoints(t);
            for (let i = 0; i < elements; i++) {
                const sum = f32(f32((t.a[i] - aZero) * aScale) + f32((t.b[i] - bZero) * bScale));
                t.output[i] = clamp(toEven(f32(sum / scale)) + zero);
            }
        },
        usual(t) {
            const [aScale, bScale, scale] = [t.aScale[0], t.bScale[0], t.outputScale[0]];
            const [aZero, bZero, zero] = zeroPoints(t);
            for (let i = 0; i < elements; i++) {
                const sum = (t.a[i] - aZero) * aScale + (t.b[i] - bZero) * bScale;
                t.output[i] = clamp(Math.round(sum / scale) + zero);
            }
        },
    },
};

// The elements per nanosecond, in the best of some batches.
function speed(run, runs = RUNS) {
    const batch = () => {
        const start = performance.now();
        for (let i = 0; i < runs; i++) run();
        return performance.now() - start;
    };
    return elements * runs / Math.min(...Array.from({length: BATCHES}, batch)) / 1e6;
}

function tensorsOf(cases, types = {}) {
    return Object.fromEntries(Object.entries(cases).map(([name, [type, one, value]]) => {
        const dataType = types[type] ?? type;
        const tensor = hewn.tensor(one ? repeated(dataType, shape) : {dataType, shape});
        if (value) tensor.data.forEach((_, i) => { tensor.data[i] = value(i); });
        return [name, tensor];
    }));
}

function measure(name, tensors, what, {exact, usual}) {
    const operator = hewn.compile(name, tensors);
    const ours = speed(() => operator.run(tensors)), got = tensors.output.data.slice(), arrays = {};
    for (const key of Object.keys(tensors)) arrays[key] = tensors[key].data.slice();
    const loop = run => (run ? speed(() => run(arrays), 4).toFixed(2) : '');
    const loops = [loop(exact)], differs = got.some((value, i) => value !== arrays.output[i]);
    if (exact && differs) throw new Error(`${what}: the loop's results are others`);
    console.log(`| ${what} | ${ours.toFixed(2)} | ${[...loops, loop(usual)].join(' | ')} |`);
    for (const owner of [operator, ...Object.values(tensors)]) owner.destroy();
}

console.log(`| ${elements} elements | hewn | exact loop | usual loop |\n|---|---|---|---|`);
for (const [name, {tensors, ...loops}] of Object.entries(CASES)) {
    const types = Object.values(tensors).filter(([, one]) => !one).map(([type]) => type);
    measure(name, tensorsOf(tensors), `${name} ${[...new Set(types)].join(' to ')}`, loops);
    if (!types.includes('float32')) continue;
    const half = tensorsOf(tensors, {float32: 'float16'});
    measure(name, half, `${name} ${[...new Set(types)].join(' to ').replace('32', '16')}`, {});
}
