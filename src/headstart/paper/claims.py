"""Section 6 of the paper: its sentences, and the rule that judges each claim.

A sentence may make several claims; it is counted once. What only the order of curves in a figure
would show is implied, and counted separately: the figures are not in the paper's source.
"""

from dataclasses import dataclass, replace

from headstart.learners.oful import AVG, ITL, ORACLE, RR
from headstart.paper.rules import AboutEqual, Lower, Nearer, Rule, Side


@dataclass(frozen=True)
class Sentence:
    """A sentence of the paper, quoted, and its place."""

    quote: str
    where: str


@dataclass(frozen=True)
class Claim:
    """One thing that the paper says or implies, and its rule.

    `text` is the full wording, `short` the header of a column. Without a `sentence` the claim is
    `implied`, by the order of the curves in a figure.
    """

    text: str
    short: str
    rule: Rule
    sentence: Sentence | None = None
    implied: str = ""


EXPECTED = Sentence(
    "we first generated an environment of tasks in which running the Oracle policy is expected to "
    "outperform the ITL approach",
    "Section 6, synthetic data",
)
TENDS = Sentence(
    "the stronger the regularization, the more the AVG-OFUL tends to the Oracle",
    "Section 6, synthetic data",
)
PENALIZED = Sentence(
    "Conversely, RR-OFUL get penalized with the increasing of λ, due to its bias",
    "Section 6, synthetic data",
)
OUTPERFORM = Sentence(
    "both the proposed policies AVG-OFUL and RR-OFUL outperform the ITL approach, while the Oracle "
    "policy is consistent with Corollary 2 and Assumption 1",
    "Section 6, LastFM",
)
SMALL = Sentence("the best performance occur for small value of λ", "Section 6, MovieLens")
MISALIGNED = Sentence(
    "the AVG-OFUL policy behaves almost equally to the ITL approach, conversely, the task "
    "misalignment caused bad performances to the RR-OFUL policy, confirming its higher sensitivity "
    "to task dissimilarity",
    "Section 6, MovieLens",
)
UNBIASED = Sentence(
    "when Assumption 1 is satisfied, adopting the unbiased estimator yields better results than "
    "the second one, which is biased",
    "Section 7",
)
# “Conversely”: the two sentences describe the same curves.
TOGETHER = (TENDS, PENALIZED)
SENTENCES = (EXPECTED, TENDS, PENALIZED, OUTPERFORM, SMALL, MISALIGNED, UNBIASED)


def _order(
    first: str, second: str, at: float, sentence: Sentence | None, implied: str = ""
) -> Claim:
    return Claim(
        f"{first} is better than {second} at λ = {at:g}",
        f"{_SHORT[first]} < {_SHORT[second]}, λ = {at:g}",
        Lower(Side(first, at), Side(second, at)),
        sentence,
        implied,
    )


_SHORT = {ORACLE: "Oracle", AVG: "AVG", RR: "RR", ITL: "ITL"}


def _figure(number: int, at: float) -> list[Claim]:
    """The orders that Figure 1 or 2 would show."""
    pairs = ((ORACLE, AVG), (ORACLE, RR), (AVG, ITL), (RR, ITL))
    return [_order(*pair, at, None, f"Figure {number}") for pair in pairs]


SYNTHETIC = [
    _order(ORACLE, ITL, 1.0, EXPECTED),
    _order(ORACLE, ITL, 100.0, EXPECTED),
    Claim(
        "a larger λ brings AVG-OFUL towards the Oracle (λ = 1 to 100)",
        "AVG nears Oracle",
        Nearer(AVG, ORACLE, 1.0, 100.0),
        TENDS,
    ),
    Claim(
        "a larger λ hurts RR-OFUL (λ = 1 to 100)",
        "RR, λ = 1 < 100",
        Lower(Side(RR, 1.0), Side(RR, 100.0)),
        PENALIZED,
    ),
    _order(AVG, RR, 1.0, UNBIASED),
    _order(AVG, RR, 100.0, UNBIASED),
    *_figure(1, 1.0),
    *_figure(2, 100.0),
]

LASTFM = [
    _order(AVG, ITL, 1.0, OUTPERFORM),
    _order(RR, ITL, 1.0, OUTPERFORM),
    _order(ORACLE, ITL, 1.0, OUTPERFORM),
    _order(AVG, RR, 1.0, UNBIASED),
    _order(ORACLE, AVG, 1.0, None, "Figure 3"),
    _order(ORACLE, RR, 1.0, None, "Figure 3"),
]

MOVIELENS = [
    Claim(
        "AVG-OFUL is about equal to ITL at λ = 1",
        "AVG ≈ ITL, λ = 1",
        AboutEqual(Side(AVG, 1.0), Side(ITL, 1.0)),
        MISALIGNED,
    ),
    Claim(
        "RR-OFUL is worse than ITL at λ = 1",
        "ITL < RR, λ = 1",
        Lower(Side(ITL, 1.0), Side(RR, 1.0)),
        MISALIGNED,
    ),
    Claim(
        "RR-OFUL is worse than AVG-OFUL at λ = 1",
        "AVG < RR, λ = 1",
        Lower(Side(AVG, 1.0), Side(RR, 1.0)),
        MISALIGNED,
    ),
    Claim(
        "AVG-OFUL is better at λ = 1 than at λ = 100",
        "AVG, λ = 1 < 100",
        Lower(Side(AVG, 1.0), Side(AVG, 100.0)),
        SMALL,
    ),
    Claim(
        "RR-OFUL is better at λ = 1 than at λ = 100",
        "RR, λ = 1 < 100",
        Lower(Side(RR, 1.0), Side(RR, 100.0)),
        SMALL,
    ),
]


def at_best(rule: Rule) -> Rule | None:
    """The rule with each side at its own best λ; None if the rule is about λ itself."""
    if isinstance(rule, Lower | AboutEqual):
        first, second = rule.first, rule.second
        if first.regularization == second.regularization:
            return replace(rule, first=Side(first.learner, None), second=Side(second.learner, None))
    return None


def learners_of(rule: Rule) -> list[str]:
    """The learners that must differ for a study to say anything: those that learn, and ITL.

    The Oracle counts if the rule is about it.
    """
    oracle = [ORACLE] if any(side.learner == ORACLE for side in rule.sides) else []
    return [*oracle, AVG, RR, ITL]
