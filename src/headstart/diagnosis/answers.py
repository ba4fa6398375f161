"""Answers: whether a warm start reduces regret, which estimator is best, and why, as data."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Literal

from headstart.diagnosis.diagnosis import Diagnosis
from headstart.intervals import Interval
from headstart.studies.summary import finite
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
    """The best learner that learns its bias against its baseline; None unless there are both."""
    best = diagnosis.regret.best(diagnosis.learners.learned)
    baseline = None if best is None else diagnosis.learners.baseline(best)
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


def plain(diagnosis: Diagnosis) -> dict[str, object]:
    """All answers as a JSON table; a number that is not finite is null, and so is no answer."""
    found = [warm_start(diagnosis), choice(diagnosis)]
    table: dict[str, object] = {
        "learners": [
            {"learner": name, "regret": asdict(diagnosis.regret.of(name))}
            for name in diagnosis.learners.names
        ],
        "warm_start": _table(found[0]),
        "best": _table(found[1]),
        "reasons": [_table(reason) for reason in reasons(diagnosis)],
    }
    return finite(table)


def _table(answer: WarmStart | Choice | Reason | None) -> dict[str, object] | None:
    if answer is None:
        return None
    table = {"about": type(answer).__name__, **asdict(answer)}
    kind = getattr(answer, "kind", None)
    return table if kind is None else {**table, "kind": kind}
