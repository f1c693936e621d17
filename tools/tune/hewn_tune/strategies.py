"""The tuner's own optimisers. ask(count) returns candidates to measure, and tell(knobs, score)
takes a candidate's score. Knobs are sorted tuples of (name, value). A score is a gain over the
incumbent, or None if the candidate is wrong."""

import random


class Grid:
    """Asks for all candidates. Those that differ from the incumbent in the fewest knobs come
    first."""

    def __init__(self, candidates, incumbent):
        different = lambda knobs: sum(a != b for a, b in zip(knobs, incumbent))
        self.rest, self.total = sorted(candidates, key=different), len(candidates)

    def ask(self, count):
        batch, self.rest = self.rest[:count], self.rest[count:]
        return batch

    def tell(self, knobs, score):
        pass


class Optimiser:
    """Asks for the candidates that Optuna's tree-structured Parzen estimator proposes, for spaces
    that are too large for the available time. It first asks for those that differ from the
    incumbent in one knob."""

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
        # Optuna may propose a known candidate again. It is then told the score again.
        for _ in range(20 * count):
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
        """Candidates by chance, for when the estimator proposes nothing new."""
        rest = sorted(knobs for knobs in self.candidates if knobs not in self.trials)
        batch = self.random.sample(rest, min(count, len(rest)))
        self.trials.update(dict.fromkeys(batch))
        return batch

    def tell(self, knobs, score):
        known = knobs in self.scores
        self.scores[knobs] = score
        # A second score, or one for a candidate that the estimator did not propose, needs a new
        # trial.
        if known or self.trials.get(knobs) is None:
            self.study.add_trial(self.made(params=dict(knobs), value=score or 0.0,
                                           distributions=self.distributions))
        else:
            self._tell(self.trials[knobs], score)

    def _tell(self, trial, score):
        # Knobs that are no candidate, and wrong candidates, have a gain of 0.
        self.study.tell(trial, score or 0.0)
