"""Answers: whether a warm start reduces regret, which estimator is best, and why.

Each is data with its words: a headline and its numbers, or one sentence.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

import numpy as np

from headstart.diagnosis.diagnosis import Diagnosis
from headstart.intervals import CONFIDENCE, Interval
from headstart.studies.summary import finite
from headstart.theory import Term


@dataclass(frozen=True)
class NothingToCompare:
    """No learner starts from zero, or none learns its bias."""

    headline = "Nothing to compare."
    detail = (
        "It takes one learner that starts from zero and one that learns its bias, with the same "
        "policy."
    )


@dataclass(frozen=True, kw_only=True)
class WarmStart:
    """Whether a warm start reduces regret: by how much per task, for the best learner.

    The baseline starts every task from zero and plays the same policy. λ is None if a prior has no
    number for it. The learner was chosen among several, so the answer takes Holm's p-value for all
    of them against their baselines.
    """

    learner: str
    baseline: str
    saved: Interval
    corrected: float
    share: float  # saved, as a share of the baseline's regret
    regularization: float | None
    baseline_regularization: float | None

    @property
    def kind(self) -> Literal["reduces", "increases", "undecided"]:
        """By the sign of what is saved, if the p-value is at most 5 %."""
        if self.corrected > 1.0 - CONFIDENCE:
            return "undecided"
        return "reduces" if self.saved.mean > 0 else "increases"

    @property
    def headline(self) -> str:
        answer = {
            "reduces": "A warm start reduces regret",
            "increases": "A warm start increases regret",
            "undecided": "Whether a warm start reduces regret is undecided",
        }[self.kind]
        learner = _at(self.learner, self.regularization)
        return f"{answer}: {learner} against {_at(self.baseline, self.baseline_regularization)}."

    @property
    def detail(self) -> str:
        if self.kind == "increases":
            return (
                f"{self.learner} has {-self.saved:.2f} more regret per task than {self.baseline}."
            )
        share = f", {100 * self.share:.0f} %" if self.kind == "reduces" else ""
        return (
            f"{self.learner} saves {self.saved:.2f} of regret per task against "
            f"{self.baseline}{share}."
        )


@dataclass(frozen=True, kw_only=True)
class PoliciesDiffer:
    """The best learner has no baseline: learners that start from zero play other policies.

    `saved` is its regret per task against the best of these. It combines the effects of start and
    policy, and says nothing about either alone.
    """

    learner: str
    policy: str
    cold: str
    cold_policy: str
    saved: Interval

    @property
    def headline(self) -> str:
        return (
            f"Nothing shows whether a warm start helps {self.learner}: no learner plays its "
            "policy from zero."
        )

    @property
    def detail(self) -> str:
        return (
            f"{self.learner} plays {self.policy}, {self.cold} plays {self.cold_policy}. Their "
            f"difference, {self.saved:.2f} of regret per task, combines the effects of start and "
            f"policy. Add a learner with the policy of {self.learner} and the prior Fixed "
            "without a bias."
        )


@dataclass(frozen=True, kw_only=True)
class Choice:
    """The learners with least and second least regret, and how much they differ per task.

    This interval needs no correction for the choice among many: if another learner is better than
    the chosen one, it excludes 0 with at most 5 % probability (Gutmann and Maymin, 1987).

    `among` are the learners that learn their bias and the agents without a prior, in the order of
    their regrets.
    """

    best: str
    second: str
    difference: Interval
    among: Sequence[str]

    @property
    def kind(self) -> Literal["best", "undecided"]:
        """Whether the difference is certain."""
        return "best" if self.difference.low > 0 else "undecided"

    @property
    def headline(self) -> str:
        among = f"{', '.join(self.among[:-1])} and {self.among[-1]}"
        if self.kind == "best":
            return f"{self.best} is best among {among}."
        return f"Whether {self.best} or {self.second} is best among {among} is undecided."

    @property
    def detail(self) -> str:
        if self.kind == "best":
            return f"It has {self.difference:.2f} less regret per task than {self.second}."
        return f"They differ by {self.difference:.2f} of regret per task."


@dataclass(frozen=True, kw_only=True)
class VarianceRatio:
    """Assumption 1: Var_w̄/Var_0."""

    ratio: Interval

    @property
    def kind(self) -> Literal["small", "moderate", "large"]:
        """Small with certainty below ¼, large with certainty above ¾."""
        if self.ratio.low > 0.75:
            return "large"
        return "small" if self.ratio.high < 0.25 else "moderate"

    @property
    def sentence(self) -> str:
        distance = {
            "small": "close together and far from 0",
            "moderate": "partly alike",
            "large": "no closer to their mean than to 0",
        }[self.kind]
        return (
            f"Assumption 1: Var_w̄/Var_0 = {self.ratio:.3f}. Tasks are {distance}: knowing the mean "
            f"removes {100 * (1 - self.ratio.mean):.0f} % of the mean squared distance between a "
            "task and its start."
        )


@dataclass(frozen=True, kw_only=True)
class LargestTerm:
    """The largest term of the error of a learner's bias after some tasks, as mean squares."""

    learner: str
    n_tasks: int
    error: float
    term: Term
    square: float

    @property
    def sentence(self) -> str:
        cause = {
            "sampling": "the tasks so far are a sample of all tasks",
            "bias": "tasks that play different arms weigh differently in the pool",
            "noise": "rewards are noisy",
            "ridge": "its ridge regression shrinks towards 0",
        }[self.term]
        return (
            f"{self.learner}: ε = {self.error:.3g} after {self.n_tasks} tasks, mainly because "
            f"{cause} ({self.square:.3g})."
        )


@dataclass(frozen=True, kw_only=True)
class SharedDirections:
    """Along how many directions tasks differ, by a learner's prior.

    It is the most frequent number over replications.
    """

    learner: str
    directions: int
    agreeing: int
    replications: int

    @property
    def sentence(self) -> str:
        along = f"{self.directions} direction{'' if self.directions == 1 else 's'}"
        return (
            f"{self.learner}: tasks differ along {along}, according to {self.agreeing} of "
            f"{self.replications} replications."
        )


@dataclass(frozen=True, kw_only=True)
class Nonlinearity:
    """The share of the means' sum of squares that is not linear in the features."""

    unexplained: float

    @property
    def sentence(self) -> str:
        return (
            f"The means are not linear in the features: {100 * self.unexplained:.0f} % of their "
            "sum of squares remains after the best fit, which is used as w; the mean of the "
            "fits is used as w̄. No confidence set or bound is proved for such tasks."
        )


Answer = WarmStart | PoliciesDiffer | Choice | NothingToCompare
Reason = VarianceRatio | LargestTerm | SharedDirections | Nonlinearity


def answers(found: Diagnosis) -> list[Answer]:
    """Whether a warm start reduces regret, for which learner nothing is known, which is best."""
    whether, unknown = warm_start(found), policies_differ(found)
    others = [None if unknown == whether else unknown, choice(found)]
    return [whether or NothingToCompare(), *(one for one in others if one is not None)]


def warm_start(found: Diagnosis) -> WarmStart | PoliciesDiffer | None:
    """The best learner that has a baseline against it.

    Without any baseline, says that policies differ. None unless one learner starts from zero and
    one learns its bias.
    """
    baselines = {name: found.baseline(name) for name in found.learned}
    pairs = [(name, cold) for name, cold in baselines.items() if cold is not None]
    best = found.best([name for name, _ in pairs])
    if best is None:
        return policies_differ(found)
    (compared,) = (one for one in found.compared(pairs) if one.learner == best)
    baseline = compared.reference
    saved, total = found.saved(best, baseline), found.regret(baseline).mean
    return WarmStart(
        learner=best,
        baseline=baseline,
        saved=saved,
        corrected=compared.corrected,
        share=saved.mean / total if total > 0 else 0.0,
        regularization=found.regularization(best),
        baseline_regularization=found.regularization(baseline),
    )


def policies_differ(found: Diagnosis) -> PoliciesDiffer | None:
    """Says that the best learner has no baseline; None if it has one."""
    best, cold = found.best(found.learned), found.best(found.from_zero)
    if best is None or cold is None or found.baseline(best) is not None:
        return None
    return PoliciesDiffer(
        learner=best,
        policy=found.policy(best),
        cold=cold,
        cold_policy=found.policy(cold),
        saved=found.saved(best, cold),
    )


def choice(found: Diagnosis) -> Choice | None:
    """Which is best. None unless two learn their bias, or one does and one agent has no prior."""
    among = sorted(
        [*found.learned, *found.agents], key=lambda name: (found.regret(name).mean, name)
    )
    if len(among) < 2:
        return None
    best, second = among[:2]
    return Choice(best=best, second=second, difference=found.saved(best, second), among=among)


def reasons(found: Diagnosis) -> Iterator[Reason]:
    """The variance of tasks, their directions, the errors of biases; and linearity if it fails."""
    if np.isfinite(found.variance_ratio.mean):
        yield VarianceRatio(ratio=found.variance_ratio)
    for name in found.learned:
        # NaN if the prior does not say, 0 if tasks differ along all directions.
        ranks = found.dataset["directions"].sel(learner=name).to_numpy()
        numbers, counts = np.unique(ranks, return_counts=True)
        most = int(np.argmax(counts))
        if not np.isnan(ranks).any() and numbers[most]:
            yield SharedDirections(
                learner=name,
                directions=int(numbers[most]),
                agreeing=int(counts[most]),
                replications=len(ranks),
            )
        terms = found.error_terms(name)
        if terms is not None:
            squares = {term: float(square.mean()) for term, square in terms.squares().items()}
            largest = max(squares, key=lambda term: squares[term])
            yield LargestTerm(
                learner=name,
                n_tasks=found.n_tasks - 1,
                error=float((terms.total**2).sum(-1).mean()),
                term=largest,
                square=squares[largest],
            )
    if found.unexplained > 0:
        yield Nonlinearity(unexplained=found.unexplained)


def plain(found: Diagnosis) -> dict[str, object]:
    """All answers as a JSON table; a missing answer, or a number that is not finite, is null."""
    table: dict[str, object] = {
        "learners": [
            {
                "learner": name,
                "regularization": found.regularization(name),
                "regret": asdict(found.regret(name)),
            }
            for name in [*found.learners, *found.agents]
        ],
        "warm_start": _table(warm_start(found)),
        "policies_differ": _table(policies_differ(found)),
        "best": _table(choice(found)),
        "reasons": [_table(reason) for reason in reasons(found)],
    }
    return finite(table)


def _table(answer: WarmStart | PoliciesDiffer | Choice | Reason | None) -> dict[str, object] | None:
    if answer is None:
        return None
    table = {"about": type(answer).__name__, **asdict(answer)}
    kind = getattr(answer, "kind", None)
    return table if kind is None else {**table, "kind": kind}


def _at(name: str, regularization: float | None) -> str:
    """A learner with its λ, if it has one."""
    return name if regularization is None else f"{name} at λ = {regularization:.3g}"
