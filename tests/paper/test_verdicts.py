"""A verdict follows from the outcomes of a claim, and a sentence's from those of its claims."""

import pytest

from headstart.intervals import Interval
from headstart.paper.claims import LASTFM, SYNTHETIC, TOGETHER, UNBIASED, Claim, Sentence
from headstart.paper.rules import Outcome, OutcomeKind
from headstart.paper.verdicts import (
    SentenceKind,
    Verdict,
    VerdictKind,
    by_sentence,
    hold_together,
)


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
        # All learners equal: no reproduction, whatever the rule would say.
        ("undecided", "uninformative", "not reproduced"),
        ("uninformative", "holds", "reproduced otherwise"),
    ],
)
def test_kind_follows_from_outcomes(
    main: OutcomeKind, other: OutcomeKind, kind: VerdictKind
) -> None:
    verdict = Verdict(LASTFM[0], {"main": _outcome(main), "other": _outcome(other)})
    assert verdict.kind == kind
    assert verdict.holds_under == (["other"] if other == "holds" else [])
    assert verdict.fails_under == (["other"] if other == "fails" else [])


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
    kind: SentenceKind,
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
        judged = by_sentence(TOGETHER, {"synthetic": [tends, verdict(TOGETHER[1], found)]})
        assert hold_together(judged) == (together, 3)
