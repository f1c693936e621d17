// Tests of the page's clock.mjs, whose folder is in HEWN_PAGE, with clocks that are coarse.
import assert from 'node:assert/strict';
import test from 'node:test';
import {pathToFileURL} from 'node:url';

const {HEWN_PAGE, HEWN_WEB} = process.env;
const {resolution, timed} = await import(new URL('clock.mjs', pathToFileURL(HEWN_PAGE + '/')));
const {load, repeated} = await import(new URL('hewn.mjs', pathToFileURL(HEWN_WEB + '/')));

const READING = 1e-4;

// A clock that moves only by run() and by being read.
function simulated(step, duration) {
    const clock = {time: 0.7, runs: 0};
    clock.now = () => Math.floor((clock.time += READING) / step) * step;
    clock.run = () => {
        clock.time += duration;
        clock.runs++;
    };
    return clock;
}

for (const step of [0.005, 0.1, 1, 16, 100]) {
    test(`a clock in steps of ${step} ms`, () => {
        const {now} = simulated(step, 0);
        assert.ok(Math.abs(resolution(now) / step - 1) < 1e-9);
        for (const duration of [0.02, 0.37, 7, 45, 130, 700]) {
            const clock = simulated(step, duration), {ms, runs} = timed(clock.run, clock);
            const what = `${duration} ms: ${ms}, ${runs} runs`;
            assert.ok(Math.abs(ms / duration - 1) < 0.055, what);
            assert.equal(runs, clock.runs, what);
            assert.ok(runs * (duration + 2 * READING) > 3 * step, what);
        }
    });
}

test('an operator, by performance.now() rounded to 100 ms', async () => {
    const hewn = await load(), shape = [1000], real = performance.now;
    const descs = {input: {dataType: 'float32', shape}, scale: repeated('float32', shape),
        output: {dataType: 'uint8', shape}};
    const tensors = {input: hewn.tensor(descs.input), scale: hewn.tensor(descs.scale, [1]),
        output: hewn.tensor(descs.output)};
    const operator = hewn.compile('quantizeLinear', descs);
    const clock = () => real.call(performance);
    let first, last;
    performance.now = () => Math.floor(clock() / 100) * 100;
    try {
        const {ms, runs} = timed(() => {
            first ??= clock();
            operator.run(tensors);
            last = clock();
        });
        assert.ok(runs > 20, `${runs} runs`);
        assert.ok(ms > 0 && ms * runs >= 300, `${runs} runs of ${ms} ms`);
        // A busy machine may stop the program between two readings of the clock.
        assert.ok(Math.abs(ms * runs - (last - first)) < 200, `${ms * runs}, ${last - first}`);
    } finally {
        performance.now = real;
    }
});

test('a clock that stands still', () => {
    assert.throws(() => resolution(() => 5), /stands still/);
});
