// How long something takes, by a clock that may be coarse. Browsers round performance.now(), which
// could identify a machine: to 5 microseconds, to 1 millisecond, or to 100. Used by page.mjs.

const CALLS = 1e8;  // of a clock, after which it stands still: seconds

// Calls now() until it differs from `last`, and returns that.
function next(now, last) {
    for (let i = 0; i < CALLS; i++) {
        const time = now();
        if (time !== last) return time;
    }
    throw new Error('the clock stands still');
}

// The step in which the clock moves, in milliseconds: the shortest of `count` steps.
export function resolution(now = () => performance.now(), count = 2) {
    let step = Infinity, last = next(now, now());
    for (let i = 0; i < count; i++) {
        const time = next(now, last);
        step = Math.min(step, time - last);
        last = time;
    }
    return step;
}

// The time of one run in milliseconds, and how often it ran for that. A round begins just when the
// clock moves and ends with a run in which it moves, so it is wrong by less than a run, or a step.
// It lasts until that is at most a twentieth, three steps and 10 milliseconds at least. The result
// is the mean of the fastest round. There are five, fewer where they take long.
export function timed(run, {now = () => performance.now(), step = resolution(now)} = {}) {
    let ms = Infinity, runs = 0, total = 0;
    for (let round = 0; round < 5 && total < 200; round++) {
        const start = next(now, now());
        let elapsed = 0, count = 0, moved;
        do {
            run();
            count++;
            const before = elapsed;
            elapsed = now() - start;
            moved = elapsed > before;
        } while (!moved || elapsed < Math.max(3 * step, 10) ||
            (count < 20 && elapsed < 20 * step));
        ms = Math.min(ms, elapsed / count);
        runs += count;
        total += elapsed;
    }
    return {ms, runs};
}
