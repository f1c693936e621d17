// Measures how long something takes by a clock that may be coarse. Browsers round performance.now()
// to 5 microseconds, to 1 millisecond or to 100, because an exact clock could identify a machine.
// page.mjs uses this.

// If a clock does not move in this many calls, which take seconds, it stands still.
const CALLS = 1e8;

// Calls now() until it returns something other than `last`, and returns that.
function next(now, last) {
    for (let i = 0; i < CALLS; i++) {
        const time = now();
        if (time !== last) return time;
    }
    throw new Error('the clock stands still');
}

// The milliseconds by which the clock moves at a time: the shortest of `count` steps.
export function resolution(now = () => performance.now(), count = 2) {
    let step = Infinity, last = next(now, now());
    for (let i = 0; i < count; i++) {
        const time = next(now, last);
        step = Math.min(step, time - last);
        last = time;
    }
    return step;
}

// Returns the milliseconds of one run, and how many runs were made. There are five rounds, or fewer
// if they take long; the result is the mean of the fastest round. A round begins just when the
// clock moves and ends with a run in which it moves, so its time is wrong by less than a run or a
// step. It lasts until that error is at most a twentieth, and at least three steps and 10
// milliseconds.
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
