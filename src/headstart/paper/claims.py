"""Section 6 of the paper, claim by claim, each with the rule that judges it."""

from dataclasses import dataclass, replace

from headstart.paper.learners import AVG, ITL, ORACLE, RR
from headstart.paper.rules import AboutEqual, Lower, Nearer, Rule, Side


@dataclass(frozen=True)
class Claim:
    """What the paper says, where it says it, and the rule."""

    text: str
    source: str
    rule: Rule


def _order(first: str, second: str, at: float, source: str) -> Claim:
    text = f"{first} is better than {second} at λ = {at:g}"
    return Claim(text, source, Lower(Side(first, at), Side(second, at)))


_EXPECTED = "text: “running the Oracle policy is expected to outperform the ITL approach”"
_CONCLUSION = "Section 7: “adopting the unbiased estimator yields better results”"


def _figure(number: int, at: float) -> list[Claim]:
    source = f"implied: the order of the curves in Figure {number}"
    return [
        _order(ORACLE, ITL, at, _EXPECTED),
        _order(ORACLE, AVG, at, source),
        _order(ORACLE, RR, at, source),
        _order(AVG, ITL, at, source),
        _order(RR, ITL, at, source),
        _order(AVG, RR, at, _CONCLUSION),
    ]


SYNTHETIC = [
    *_figure(1, 1.0),
    *_figure(2, 100.0),
    Claim(
        "a larger λ brings AVG-OFUL towards the Oracle (λ = 1 to 100)",
        "text: “the stronger the regularization, the more the AVG-OFUL tends to the Oracle”",
        Nearer(AVG, ORACLE, 1.0, 100.0),
    ),
    Claim(
        "a larger λ hurts RR-OFUL (λ = 1 to 100)",
        "text: “RR-OFUL get penalized with the increasing of λ”",
        Lower(Side(RR, 1.0), Side(RR, 100.0)),
    ),
]

_BOTH = "text: “both the proposed policies AVG-OFUL and RR-OFUL outperform the ITL approach”"
_ORACLE = "text: “the Oracle policy is consistent with Corollary 2”"

LASTFM = [
    _order(AVG, ITL, 1.0, _BOTH),
    _order(RR, ITL, 1.0, _BOTH),
    _order(ORACLE, AVG, 1.0, _ORACLE),
    _order(ORACLE, RR, 1.0, _ORACLE),
    _order(ORACLE, ITL, 1.0, _ORACLE),
    _order(AVG, RR, 1.0, _CONCLUSION),
]

_SMALL = "text: “the best performance occur for small value of λ”"

MOVIELENS = [
    Claim(
        "AVG-OFUL is about equal to ITL at λ = 1",
        "text: “the AVG-OFUL policy behaves almost equally to the ITL approach”",
        AboutEqual(Side(AVG, 1.0), Side(ITL, 1.0)),
    ),
    Claim(
        "RR-OFUL is worse than ITL at λ = 1",
        "text: “the task misalignment caused bad performances to the RR-OFUL policy”",
        Lower(Side(ITL, 1.0), Side(RR, 1.0)),
    ),
    Claim(
        "RR-OFUL is worse than AVG-OFUL at λ = 1",
        "text: “confirming its higher sensitivity to task dissimilarity”",
        Lower(Side(AVG, 1.0), Side(RR, 1.0)),
    ),
    Claim(
        "AVG-OFUL is better at λ = 1 than at λ = 100",
        _SMALL,
        Lower(Side(AVG, 1.0), Side(AVG, 100.0)),
    ),
    Claim(
        "RR-OFUL is better at λ = 1 than at λ = 100",
        _SMALL,
        Lower(Side(RR, 1.0), Side(RR, 100.0)),
    ),
]


def at_best(rule: Rule) -> Rule | None:
    """The rule with each side at its own best λ; None where the rule is about λ itself."""
    if isinstance(rule, Lower | AboutEqual):
        first, second = rule.first, rule.second
        if first.regularization == second.regularization:
            return replace(rule, first=Side(first.learner, None), second=Side(second.learner, None))
    return None
