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
    """Whether a warm start reduces regret: by how much per task, for the best learner.

    The baseline starts every task from zero and plays the same policy. λ is None where a prior
    has no number for it.
    """

    learner: str
    baseline: str
    saved: Interval
    share: float  # saved, as a share of the baseline's regret
    regularization: float | None
    baseline_regularization: float | None

    @property
    def kind(self) -> Literal["reduces", "increases", "undecided"]:
        """By the side of 0 that the interval is on."""
        if self.saved.low > 0:
            return "reduces"
        return "increases" if self.saved.high < 0 else "undecided"


@dataclass(frozen=True, kw_only=True)
class PoliciesDiffer:
    """The best learner has no baseline: those that start from zero play other policies.

    `saved` is its regret per task against the best of them. It is the effect of the start and of
    the policy together, and says nothing about either alone.
    """

    learner: str
    policy: str
    cold: str
    cold_policy: str
    saved: Interval


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


def warm_start(diagnosis: Diagnosis) -> WarmStart | PoliciesDiffer | None:
    """The best learner that has a baseline against it.

    Without any baseline, that policies differ; None unless one learner starts from zero and one
    learns its bias.
    """
    learners, regret = diagnosis.learners, diagnosis.regret
    best = regret.best([name for name in learners.learned if learners.baseline(name) is not None])
    baseline = None if best is None else learners.baseline(best)
    if best is None or baseline is None:
        return policies_differ(diagnosis)
    saved, total = regret.saved(best, baseline), regret.of(baseline).mean
    return WarmStart(
        learner=best,
        baseline=baseline,
        saved=saved,
        share=saved.mean / total if total > 0 else 0.0,
        regularization=diagnosis.recording.regularization(best),
        baseline_regularization=diagnosis.recording.regularization(baseline),
    )


def answers(diagnosis: Diagnosis) -> list[WarmStart | PoliciesDiffer | Choice | None]:
    """Whether a warm start reduces regret, for which learner that is not known, which is best."""
    whether, unknown = warm_start(diagnosis), policies_differ(diagnosis)
    others = [None if unknown == whether else unknown, choice(diagnosis)]
    return [whether, *(one for one in others if one is not None)]


def policies_differ(diagnosis: Diagnosis) -> PoliciesDiffer | None:
    """That the best of those that learn has no baseline; None where it has one."""
    learners, regret = diagnosis.learners, diagnosis.regret
    best, cold = regret.best(learners.learned), regret.best(learners.from_zero)
    if best is None or cold is None or learners.baseline(best) is not None:
        return None
    return PoliciesDiffer(
        learner=best,
        policy=diagnosis.recording.policy(best),
        cold=cold,
        cold_policy=diagnosis.recording.policy(cold),
        saved=regret.saved(best, cold),
    )


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
    table: dict[str, object] = {
        "learners": [
            {
                "learner": name,
                "regularization": diagnosis.recording.regularization(name),
                "regret": asdict(diagnosis.regret.of(name)),
            }
            for name in diagnosis.learners.names
        ],
        "warm_start": _table(warm_start(diagnosis)),
        "policies_differ": _table(policies_differ(diagnosis)),
        "best": _table(choice(diagnosis)),
        "reasons": [_table(reason) for reason in reasons(diagnosis)],
    }
    return finite(table)


def _table(answer: WarmStart | PoliciesDiffer | Choice | Reason | None) -> dict[str, object] | None:
    if answer is None:
        return None
    table = {"about": type(answer).__name__, **asdict(answer)}
    kind = getattr(answer, "kind", None)
    return table if kind is None else {**table, "kind": kind}
