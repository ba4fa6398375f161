"""Sentences: the answers of a diagnosis in words."""

from headstart.diagnosis.answers import (
    Choice,
    LargestTerm,
    Nonlinearity,
    PoliciesDiffer,
    Reason,
    VarianceRatio,
    WarmStart,
)
from headstart.diagnosis.measures.regularization import RegularizationRule
from headstart.theory import Term

_CAUSES: dict[Term, str] = {
    "sampling": "the tasks so far are a sample of all tasks",
    "bias": "tasks that play different arms have different weights in the pool",
    "noise": "rewards are noisy",
    "ridge": "its ridge regression shrinks towards 0",
}

RULES: dict[RegularizationRule, str] = {
    "Corollary 2": "Corollary 2: 1/(T Var)",
    "Bayes": "Bayes: s²d/Var",
    "least regret": "least regret of those played",
}


_HEADLINES = {
    "reduces": "A warm start reduces regret",
    "increases": "A warm start increases regret",
    "undecided": "Whether a warm start reduces regret is undecided",
}

Answer = WarmStart | PoliciesDiffer | Choice


def headline(answer: Answer | None) -> str:
    """The answer itself; None is that there is none."""
    match answer:
        case None:
            return "Nothing to compare."
        case WarmStart():
            return f"{_HEADLINES[answer.kind]}: {_compared(answer)}."
        case PoliciesDiffer():
            return (
                f"Whether a warm start helps {answer.learner} cannot be said: no learner plays "
                "its policy from zero."
            )
        case Choice(kind="best"):
            return f"{answer.best} is best."
        case Choice():
            return f"Whether {answer.best} or {answer.second} is best is undecided."


def detail(answer: Answer | None) -> str:
    """The numbers that the answer follows from."""
    match answer:
        case None:
            return (
                "It takes one learner that starts from zero and one that learns its bias, with the "
                "same policy."
            )
        case WarmStart(kind="increases"):
            return (
                f"{answer.learner} has {-answer.saved:.2f} more regret per task than "
                f"{answer.baseline}."
            )
        case WarmStart():
            share = f", {100 * answer.share:.0f} %" if answer.kind == "reduces" else ""
            return (
                f"{answer.learner} saves {answer.saved:.2f} of regret per task against "
                f"{answer.baseline}{share}."
            )
        case PoliciesDiffer():
            return (
                f"{answer.learner} plays {answer.policy}, {answer.cold} plays "
                f"{answer.cold_policy}. Their difference, {answer.saved:.2f} of regret per task, "
                "is that of the start and of the policy together. Add a learner with the policy "
                f"of {answer.learner} and the prior Fixed without a bias."
            )
        case Choice(kind="best"):
            return f"It has {answer.difference:.2f} less regret per task than {answer.second}."
        case Choice():
            return f"They differ by {answer.difference:.2f} of regret per task."


def at(name: str, regularization: float | None) -> str:
    """A learner with its λ, if it has one."""
    return name if regularization is None else f"{name} at λ = {regularization:.3g}"


def _compared(answer: WarmStart) -> str:
    """The two learners, each with its λ."""
    first = at(answer.learner, answer.regularization)
    return f"{first} against {at(answer.baseline, answer.baseline_regularization)}"


def reason(answer: Reason) -> str:
    """Why, in one or two sentences."""
    match answer:
        case VarianceRatio():
            distance = {
                "small": "close together and far from 0",
                "moderate": "apart",
                "large": "no closer to their mean than to 0",
            }[answer.kind]
            return (
                f"Assumption 1: Var_w̄/Var_0 = {answer.ratio:.3f}. Tasks are {distance}: a known "
                f"mean removes {100 * (1 - answer.ratio.mean):.0f} % of the mean squared distance "
                "between a task and its start."
            )
        case LargestTerm():
            return (
                f"{answer.learner}: ε = {answer.error:.3g} after {answer.n_tasks} tasks, mainly "
                f"because {_CAUSES[answer.term]} ({answer.square:.3g})."
            )
        case Nonlinearity():
            return (
                f"The means are not linear in the features: {100 * answer.unexplained:.0f} % of "
                "their sum of squares remains after the best fit, which is used as w, and the "
                "mean of the fits as w̄. No confidence set or bound is proved for such tasks."
            )
