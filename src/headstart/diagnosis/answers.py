"""Answers: whether a warm start reduces regret, which estimator is best, and why, as data."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from headstart.diagnosis.diagnosis import Diagnosis
from headstart.intervals import Interval
from headstart.theory import Term


@dataclass(frozen=True, kw_only=True)
class WarmStart:
    """Whether a warm start reduces regret: by how much per task, for the best learner."""

    learner: str
    baseline: str
    saved: Interval
    share: float  # saved, as a share of the baseline's regret

    @property
    def kind(self) -> Literal["reduces", "increases", "undecided"]:
        """By the side of 0 that the interval is on."""
        if self.saved.low > 0:
            return "reduces"
        return "increases" if self.saved.high < 0 else "undecided"


@dataclass(frozen=True, kw_only=True)
class Choice:
    """The learners of least and second least regret, and by how much per task they differ."""

    best: str
    second: str
    difference: Interval

    @property
    def kind(self) -> Literal["best", "undecided"]:
        """Whether the difference is certain."""
        return "best" if self.difference.low > 0 else "undecided"


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


@dataclass(frozen=True, kw_only=True)
class LargestTerm:
    """The largest term of the error of a learner's bias after some tasks, as mean squares."""

    learner: str
    n_tasks: int
    error: float
    term: Term
    square: float


@dataclass(frozen=True, kw_only=True)
class Nonlinearity:
    """The share of the means' sum of squares that is not linear in the features."""

    unexplained: float


Reason = VarianceRatio | LargestTerm | Nonlinearity


def warm_start(diagnosis: Diagnosis) -> WarmStart | None:
    """None unless one learner starts from zero and another learns its bias."""
    baseline = diagnosis.learners.baseline
    best = diagnosis.regret.best(diagnosis.learners.learned)
    if best is None or baseline is None:
        return None
    saved = diagnosis.regret.saved(best, baseline)
    regret = diagnosis.regret.of(baseline).mean
    share = saved.mean / regret if regret > 0 else 0.0
    return WarmStart(learner=best, baseline=baseline, saved=saved, share=share)


def choice(diagnosis: Diagnosis) -> Choice | None:
    """None unless two learners learn their bias."""
    best = diagnosis.regret.best(diagnosis.learners.learned)
    second = diagnosis.regret.best([n for n in diagnosis.learners.learned if n != best])
    if best is None or second is None:
        return None
    return Choice(best=best, second=second, difference=diagnosis.regret.saved(best, second))


def reasons(diagnosis: Diagnosis) -> Iterator[Reason]:
    """The variance of tasks, the errors of biases and, where it fails, linearity."""
    yield VarianceRatio(ratio=diagnosis.tasks.ratio)
    for name in diagnosis.learners.learned:
        terms = diagnosis.bias.terms(name)
        if terms is not None:
            squares = {term: float(square.mean()) for term, square in terms.squares().items()}
            largest = max(squares, key=lambda term: squares[term])
            yield LargestTerm(
                learner=name,
                n_tasks=diagnosis.recording.n_tasks - 1,
                error=float((terms.total**2).sum(-1).mean()),
                term=largest,
                square=squares[largest],
            )
    if diagnosis.tasks.unexplained > 0:
        yield Nonlinearity(unexplained=diagnosis.tasks.unexplained)
