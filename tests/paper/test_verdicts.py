"""A verdict follows from the outcomes of a claim under every interpretation."""

import pytest

from headstart.intervals import Interval
from headstart.paper.claims import LASTFM
from headstart.paper.rules import Outcome, OutcomeKind
from headstart.paper.verdicts import Verdict, VerdictKind


def _outcome(kind: OutcomeKind) -> Outcome:
    return Outcome(kind, Interval(0.0, 1.0, -2.0, 2.0, 9))


@pytest.mark.parametrize(
    ("main", "other", "kind"),
    [
        ("holds", "fails", "reproduced"),
        ("fails", "holds", "reproduced otherwise"),
        ("undecided", "holds", "reproduced otherwise"),
        ("undecided", "fails", "not reproduced"),
        ("fails", "undecided", "not reproduced"),
    ],
)
def test_kind_follows_from_outcomes(
    main: OutcomeKind, other: OutcomeKind, kind: VerdictKind
) -> None:
    verdict = Verdict(LASTFM[0], {"main": _outcome(main), "other": _outcome(other)})
    assert verdict.kind == kind
    assert verdict.holds_under == (["other"] if other == "holds" else [])
