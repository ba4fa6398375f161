"""A verdict follows from the outcomes of a claim, and a sentence's from those of its claims."""

import numpy as np
import pytest

from headstart.intervals import Interval, interval
from headstart.paper.claims import LASTFM, SYNTHETIC, TOGETHER, UNBIASED, Claim, Sentence
from headstart.paper.rules import Outcome, OutcomeKind, below_zero
from headstart.paper.verdicts import (
    Kind,
    SentenceVerdict,
    Verdict,
    by_sentence,
    holding,
    mark_marginal,
    shared,
)

P = {"holds": 1e-6, "fails": 1.0, "undecided": 0.5, "uninformative": 1e-6}


def _outcome(kind: OutcomeKind) -> Outcome:
    contrary = {"fails": 1e-6, "undecided": 0.5}.get(kind, 1.0)
    around = Interval(0.0, 1.0, -2.0, 2.0, 9)
    return Outcome(P[kind], contrary, around, uninformative=kind == "uninformative")


def _found(p: float) -> Outcome:
    return Outcome(p, 1.0 - p, Interval(0.0, 1.0, -2.0, 2.0, 9))


@pytest.mark.parametrize(
    ("main", "other", "kind"),
    [
        ("holds", "fails", "reproduced"),
        ("fails", "holds", "reproduced otherwise"),
        ("undecided", "holds", "reproduced otherwise"),
        ("undecided", "fails", "not reproduced"),
        ("fails", "undecided", "not reproduced"),
        # All learners equal: no reproduction, whatever the rule would say.
        ("undecided", "uninformative", "not reproduced"),
        ("uninformative", "holds", "reproduced otherwise"),
    ],
)
def test_kind_follows_from_outcomes(main: OutcomeKind, other: OutcomeKind, kind: Kind) -> None:
    verdict = Verdict(LASTFM[0], {"main": _outcome(main), "other": _outcome(other)})
    assert verdict.kind == kind
    keys = {"main": main, "other": other}
    assert verdict.holds_under == [key for key, found in keys.items() if found == "holds"]
    assert verdict.fails_under == [key for key, found in keys.items() if found == "fails"]


@pytest.mark.parametrize(
    ("first", "second", "elsewhere", "kind"),
    [
        # Outcomes (main, other) of two claims of one section, and of one of another section.
        (("holds", "fails"), ("holds", "fails"), ("holds", "fails"), "reproduced"),
        (("fails", "holds"), ("holds", "holds"), ("holds", "fails"), "reproduced otherwise"),
        # Each holds somewhere, but never together.
        (("fails", "holds"), ("holds", "fails"), ("holds", "fails"), "in part"),
        (("fails", "holds"), ("undecided", "fails"), ("fails", "fails"), "not reproduced"),
    ],
)
def test_a_sentence_counts_once_and_needs_its_claims_together(
    first: tuple[OutcomeKind, OutcomeKind],
    second: tuple[OutcomeKind, OutcomeKind],
    elsewhere: tuple[OutcomeKind, OutcomeKind],
    kind: Kind,
) -> None:
    def verdict(claim: Claim, found: tuple[OutcomeKind, OutcomeKind]) -> Verdict:
        return Verdict(claim, dict(zip(("main", "other"), map(_outcome, found), strict=True)))

    one, two = (claim for claim in SYNTHETIC if claim.sentence == UNBIASED)
    (three,) = (claim for claim in LASTFM if claim.sentence == UNBIASED)
    given = {
        "synthetic": [verdict(one, first), verdict(two, second)],
        "lastfm": [verdict(three, elsewhere)],
    }
    (found,) = by_sentence([UNBIASED], given)
    assert len(found.claims) == 3
    assert found.kind == kind


def test_a_sentence_without_claims_here_is_left_out() -> None:
    assert by_sentence([UNBIASED], {"movielens": []}) == []


def test_sentences_about_the_same_curves_hold_together_or_not() -> None:
    def verdict(sentence: Sentence, found: tuple[OutcomeKind, ...]) -> Verdict:
        (claim,) = (claim for claim in SYNTHETIC if claim.sentence == sentence)
        return Verdict(claim, dict(zip("ABC", map(_outcome, found), strict=True)))

    tends = verdict(TOGETHER[0], ("fails", "holds", "holds"))
    cases: list[tuple[tuple[OutcomeKind, ...], list[str]]] = [
        (("holds", "fails", "undecided"), []),
        (("holds", "fails", "holds"), ["C"]),
    ]
    for found, together in cases:
        claims = [tends, verdict(TOGETHER[1], found)]
        assert holding(claims) == together
        assert shared(claims) == ["A", "B", "C"]


def test_other_readings_share_one_error() -> None:
    # Holm over three others: the smallest p counts three times, the next twice.
    def verdict(*p: float) -> Verdict:
        return Verdict(LASTFM[0], dict(zip("ABCD", map(_found, p), strict=True)))

    assert verdict(0.9, 0.02, 0.5, 0.6).kind == "not reproduced"
    assert verdict(0.9, 0.016, 0.5, 0.6).holds_under == ["B"]
    assert verdict(0.9, 0.016, 0.024, 0.6).holds_under == ["B", "C"]
    # The main reading was not chosen among them.
    assert verdict(0.049, 0.5, 0.5, 0.5).kind == "reproduced"
    # Two claims hold together as surely as the less certain one.
    assert holding([verdict(0.9, 0.001, 0.5, 0.6), verdict(0.9, 0.02, 0.001, 0.6)]) == []


def test_no_effect_is_reproduced_under_another_reading_in_one_of_twenty() -> None:
    # 17 readings of a difference whose mean is 0. Uncorrected, one in three would hold somewhere.
    rng = np.random.default_rng(0)
    n, n_readings = 1_000, 18
    otherwise = uncorrected = 0
    for _ in range(n):
        draws = rng.standard_normal((n_readings, 20))
        outcomes = {str(key): below_zero(interval(of)) for key, of in enumerate(draws)}
        verdict = Verdict(LASTFM[0], outcomes)
        otherwise += any(key != "0" for key in verdict.holds_under)
        uncorrected += any(one.kind == "holds" for key, one in outcomes.items() if key != "0")
    assert otherwise / n < 0.05
    assert uncorrected / n > 0.25


def test_a_marginal_claim_does_not_hold_among_all_of_its_section() -> None:
    found = [Verdict(LASTFM[i], {"main": _found(p)}) for i, p in enumerate((0.04, 0.001, 0.3))]
    marked = mark_marginal(found)
    assert [verdict.marginal for verdict in marked] == [True, False, False]
    assert [verdict.kind for verdict in marked] == ["reproduced", "reproduced", "not reproduced"]
    assert SentenceVerdict(UNBIASED, {"lastfm": marked[:2]}).kind == "reproduced"
