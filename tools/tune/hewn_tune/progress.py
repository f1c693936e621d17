"""Shows on stderr how far a long run is, and about how long it will still take. On a terminal, this
is one line that is updated (drawn by tqdm). Elsewhere, a line is printed now and then."""

import os
import sys
import time

try:
    from tqdm import tqdm
except ImportError:  # the tuner's environments have it; a user of hewn_tune.Live may not
    tqdm = None

EVERY = 30  # seconds between lines if there is no terminal
WIDTH = 100  # the columns of a terminal that does not say how many it has


def clock(seconds):
    """"0:05", "12:30" or "1:02:03"."""
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


def has_width(terminal):
    try:
        return os.get_terminal_size(terminal.fileno()).columns > 0
    except OSError:
        return False


class Progress:
    """The progress of a run. Without a better estimate, the rest is expected to go as fast as what
    was done so far. `every` is the number of seconds between lines if there is no terminal. `now`
    is the clock."""

    def __init__(self, what, stream=None, every=EVERY, now=time.monotonic):
        self.what, self.stream, self.every, self.now = what, stream or sys.stderr, every, now
        self.started = self.shown = now()
        self.bar = None
        if tqdm and self.stream.isatty():
            # An interval of 0 keeps tqdm from starting a thread, which would disturb processes that
            # fork.
            kind = type("Bar", (tqdm,), {"monitor_interval": 0})
            sized = has_width(self.stream)
            self.bar = kind(total=1, file=self.stream, leave=False, dynamic_ncols=sized,
                            ncols=None if sized else WIDTH,
                            bar_format="{percentage:3.0f}%|{bar:12}| {desc}", desc=what)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.bar is not None:
            self.bar.close()

    def text(self, done, total, detail="", left=None):
        """The line without the bar. `left` is the number of seconds that are left, if the caller
        has a better estimate than the pace so far."""
        spent = self.now() - self.started
        if left is None and done > 0:
            left = spent * (total - done) / done
        rest = "" if left is None else f", about {clock(left)} left"
        # The times come first, because a narrow terminal cuts off the end of the line.
        return f"{self.what}: {clock(spent)} so far{rest}{'; ' + detail if detail else ''}"

    def update(self, done, total, detail="", left=None):
        """Shows that `done` of `total` is done. `detail` says it in words; `left` is as in
        text()."""
        if self.bar is not None:
            self.bar.total, self.bar.n = total, min(done, total)
            self.bar.set_description_str(self.text(done, total, detail, left))
        elif self.now() - self.shown >= self.every:
            self.shown = self.now()
            print(self.text(done, total, detail, left), file=self.stream, flush=True)

    def say(self, text):
        """Prints a line that stays, on stdout."""
        if self.bar is not None:
            self.bar.clear()
        print(text, flush=True)
        if self.bar is not None:
            self.bar.refresh()
