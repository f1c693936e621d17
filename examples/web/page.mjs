// The script of the page. It quantizes a photograph and dequantizes it again, with hewn and with
// plain loops, and shows the results, the times and the differences.
import {alongAxis, load, repeated} from './hewn/hewn.mjs';
import {verifyVariant} from './hewn/verify.mjs';
import {runCases} from './hewn/tests/conformance.mjs';
import {resolution, timed} from './clock.mjs';

const MOST = 1024;  // the most pixels of the longer side; larger pictures are made smaller
const by = id => document.getElementById(id);
const hewn = await load();
const clock = {step: resolution()};
let photo;

// ---- Pictures ----

// Decodes a picture, draws it, and keeps its pixels as floats in `photo`.
async function open(blob) {
    const image = await createImageBitmap(blob);
    const factor = Math.min(1, MOST / Math.max(image.width, image.height));
    const canvas = by('picture');
    canvas.width = Math.max(1, Math.round(image.width * factor));
    canvas.height = Math.max(1, Math.round(image.height * factor));
    const context = canvas.getContext('2d', {willReadFrequently: true});
    context.drawImage(image, 0, 0, canvas.width, canvas.height);
    const {data, width, height} = context.getImageData(0, 0, canvas.width, canvas.height);
    const pixels = new Float32Array(width * height * 3);
    for (let i = 0, from = 0; i < pixels.length; from += 4)
        for (let c = 0; c < 3; c++) pixels[i++] = data[from + c];
    photo = {shape: [height, width, 3], pixels};
}

// Draws a picture whose i-th value is valueOf(i).
function show(id, [height, width], valueOf) {
    const canvas = by(id), image = new ImageData(width, height);
    for (let i = 0; i < width * height; i++) {
        for (let c = 0; c < 3; c++) image.data[4 * i + c] = valueOf(3 * i + c);
        image.data[4 * i + 3] = 255;
    }
    [canvas.width, canvas.height] = [width, height];
    canvas.getContext('2d').putImageData(image, 0, 0);
}

// ---- The same with plain loops, exact to the bit ----

// Rounds to the nearest integer, ties to even.

const toEven = x => x + 1.5 * 2 ** 52 - 1.5 * 2 ** 52;

function quantizeByLoop(pixels, scales, most, output) {
    for (let i = 0; i < pixels.length; i++) {
        const quotient = Math.fround(pixels[i] / scales[i % scales.length]);
        output[i] = Math.min(Math.max(toEven(quotient), 0), most);
    }
}
function dequantizeByLoop(integers, scales, output) {
    for (let i = 0; i < integers.length; i++)
        output[i] = Math.fround(integers[i] * scales[i % scales.length]);
}

// ---- hewn ----

// The scales, one for each channel or one for all. With them, the brightest value becomes the
// largest integer.
function scalesOf(pixels, levels, each) {
    const largest = [0, 0, 0];
    pixels.forEach((value, i) => { largest[i % 3] = Math.max(largest[i % 3], value); });
    const scale = value => Math.fround((value || 1) / (levels - 1));
    return each ? largest.map(scale) : [scale(Math.max(...largest))];
}

// Quantizes and dequantizes the picture with hewn. Returns the times, the results and the scales.
function compute({shape, pixels}, bits, each) {
    const dataType = bits > 8 ? 'uint16' : 'uint8', scales = scalesOf(pixels, 2 ** bits, each);
    const desc = (each ? dataType => alongAxis(dataType, shape, 2)
        : dataType => repeated(dataType, shape))('float32');
    const input = hewn.tensor({dataType: 'float32', shape}, pixels);
    const scale = hewn.tensor(desc, scales), integers = hewn.tensor({dataType, shape});
    const output = hewn.tensor({dataType: 'float32', shape});
    const constants = {scale};
    const quantize = hewn.compile('quantizeLinear', {input, scale, output: integers}, {constants});
    const dequantize = hewn.compile('dequantizeLinear', {input: integers, scale, output},
        {constants});
    const forth = () => quantize.run({input, output: integers});
    const back = () => dequantize.run({input: integers, output});
    const times = [timed(forth, clock), timed(back, clock)];
    const results = [integers.data.slice(), output.data.slice()];
    for (const owner of [quantize, dequantize, input, scale, integers, output]) owner.destroy();
    return {times, results, scales};
}

const differing = (a, b) =>
    a.reduce((count, value, i) => count + (Object.is(value, b[i]) ? 0 : 1), 0);

// Shows numbers with three significant digits.
const digits = new Intl.NumberFormat('en', {maximumSignificantDigits: 3});

// A line of the table.
function row(name, elements, ours, loops, wrong) {
    const cells = [name, ...[ours, loops].map(({ms, runs}) => `${digits.format(ms)} ms, ` +
        `${digits.format(elements / ms / 1e6)} elements/ns, ${runs.toLocaleString('en')} runs`),
    digits.format(loops.ms / ours.ms), wrong];
    const line = document.createElement('tr');
    const headings = [...document.querySelectorAll('th')].map(heading => heading.textContent);
    cells.forEach((text, i) => {
        const cell = line.insertCell();
        cell.textContent = text;
        cell.dataset.heading = headings[i];
    });
    line.lastElementChild.className = 'differing';
    return line;
}

// Computes and shows everything for the chosen bits and scales.
function update() {
    const bits = Number(by('bits').value), each = by('scales').value === 'channel';
    const {shape, pixels} = photo, {times, results, scales} = compute(photo, bits, each);
    const integers = new results[0].constructor(pixels.length), most = bits > 8 ? 65535 : 255;
    const floats = new Float32Array(pixels.length);
    const loops = [timed(() => quantizeByLoop(pixels, scales, most, integers), clock),
        timed(() => dequantizeByLoop(integers, scales, floats), clock)];
    const wrong = [integers, floats].map((expected, i) => differing(results[i], expected));
    by('results').replaceChildren(...['quantizeLinear', 'dequantizeLinear'].map((name, i) =>
        row(name, pixels.length, times[i], loops[i], wrong[i])));
    const factor = Math.max(1, 2 ** (bits - 1));
    show('quantized', shape, i => results[1][i]);
    show('difference', shape, i => 128 + factor * (results[1][i] - pixels[i]));
    by('factor').textContent = `The difference, ${factor} times, on grey`;
    by('status').textContent = `${shape[1]} x ${shape[0]} pixels; hewn ${hewn.version}, ` +
        `${hewn.variants.length} kernels. This browser's clock moves in steps of ` +
        `${digits.format(clock.step)} ms. Each run was repeated until it ` +
        'had moved by three steps or more.';
    document.body.dataset.state = 'shown';
}

// ---- Verify this browser ----

// Gives the browser time to draw the page.
const pause = () => new Promise(resolve => { setTimeout(resolve); });

async function verify() {
    const say = text => { by('status').textContent = text; };
    by('verify').disabled = true;
    let elements = 0, wrong = 0, tally;
    for (const variant of hewn.variants) {
        say(`Random and special values: ${variant.name} …`);
        await pause();
        const result = verifyVariant(hewn, variant, Math.random() * 2 ** 32);
        elements += result.elements;
        wrong += result.differing;
    }
    for (const name of await (await fetch('data/index.json')).json()) {
        say(`Conformance cases: ${name} …`);
        tally = runCases(hewn, await (await fetch(`data/${name}`)).text(), tally);
    }
    const {passed, failed} = tally;
    say(`This browser: ${wrong} of ${elements} results of ${hewn.variants.length} kernels differ ` +
        `from the formulas; of the conformance cases ${passed} passed and ${failed.length} ` +
        `failed.${['', ...failed].join('\n')}`);
    by('verify').disabled = false;
    document.body.dataset.state = wrong || failed.length ? 'wrong' : 'verified';
}

// ---- Events ----

const opened = async blob => {
    await open(blob);
    update();
};
const shown = promise => promise.catch(error => { by('status').textContent = String(error); });
by('file').onchange = () => shown(opened(by('file').files[0]));
by('bits').onchange = by('scales').onchange = update;
by('verify').onclick = () => shown(verify());
document.ondragover = event => {
    event.preventDefault();
    document.body.classList.add('dropping');
};
document.ondragleave = () => document.body.classList.remove('dropping');
document.ondrop = event => {
    event.preventDefault();
    document.body.classList.remove('dropping');
    if (event.dataTransfer.files.length) shown(opened(event.dataTransfer.files[0]));
};
shown(fetch('chelsea.png').then(response => response.blob()).then(opened));
