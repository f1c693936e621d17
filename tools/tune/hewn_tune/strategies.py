"""The tuner's own optimisers: ask(count) gives candidates, tell(knobs, score) takes what one had.
Knobs are tuples of (name, value), sorted; a score is a gain, or None where a candidate is wrong."""

import random


class Grid:
    """All combinations, those nearest to the incumbent first."""

    def __init__(self, candidates, incumbent):
        different = lambda knobs: sum(a != b for a, b in zip(knobs, incumbent))
        self.rest, self.total = sorted(candidates, key=different), len(candidates)

    def ask(self, count):
        batch, self.rest = self.rest[:count], self.rest[count:]
        return batch

    def tell(self, knobs, score):
        pass


class Optimiser:
    """Optuna's tree-structured Parzen estimator, for spaces too large for the available time. It
    first asks for candidates that differ from the incumbent in one knob."""

    def __init__(self, space, candidates, incumbent, seed=0):
        import optuna  # not needed for a grid

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self.study = optuna.create_study(direction="maximize",
                                         sampler=optuna.samplers.TPESampler(seed=seed))
        self.distributions = {name: optuna.distributions.CategoricalDistribution(values)
                              for name, values in space.items()}
        self.trials, self.scores, self.total = {}, {}, len(candidates)
        self.candidates, self.random = {*candidates, incumbent}, random.Random(seed)
        self.failed, self.made = optuna.trial.TrialState.FAIL, optuna.trial.create_trial
        self.study.enqueue_trial(dict(incumbent))
        self.trials[incumbent] = self.study.ask(self.distributions)
        self.tell(incumbent, 1.0)
        for name, values in space.items():
            for value in values:
                if value != dict(incumbent)[name]:
                    self.study.enqueue_trial({**dict(incumbent), name: value})

    def ask(self, count):
        batch = []
        for _ in range(20 * count):  # it may ask for a known candidate, and is told the score again
            trial = self.study.ask(self.distributions)
            knobs = tuple(sorted(trial.params.items()))
            if knobs in self.scores:
                self._tell(trial, self.scores[knobs])
            elif knobs not in self.candidates:
                self._tell(trial, None)
            elif knobs in self.trials:
                self.study.tell(trial, state=self.failed)
            else:
                self.trials[knobs] = trial
                batch.append(knobs)
                if len(batch) == count:
                    break
        return batch or self.unasked(count)

    def unasked(self, count):
        """What to ask for when the estimator has nothing new: candidates by chance."""
        rest = sorted(knobs for knobs in self.candidates if knobs not in self.trials)
        batch = self.random.sample(rest, min(count, len(rest)))
        self.trials.update(dict.fromkeys(batch))
        return batch

    def tell(self, knobs, score):
        known = knobs in self.scores
        self.scores[knobs] = score
        if known or self.trials.get(knobs) is None:  # once more, or the estimator did not ask
            self.study.add_trial(self.made(params=dict(knobs), value=score or 0.0,
                                           distributions=self.distributions))
        else:
            self._tell(self.trials[knobs], score)

    def _tell(self, trial, score):
        # Knobs that are no candidate gain nothing.
        self.study.tell(trial, score or 0.0)
