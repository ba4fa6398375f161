"""Verdicts and differences in words."""

import pytest

from headstart.intervals import Interval
from headstart.paper.readings import lastfm
from headstart.paper.report import count_text
from headstart.paper.rules import Outcome, OutcomeKind
from headstart.paper.tables import difference_text, verdict_text
from headstart.paper.verdicts import Verdict
from headstart.plotting.numbers import measured_text, p_value_text

AROUND = Interval(0.5, 0.1, 0.3, 0.7, 5)


def _outcome(kind: OutcomeKind, margin: float | None = None) -> Outcome:
    p, contrary = {"holds": (1e-6, 1.0), "fails": (1.0, 1e-6)}.get(kind, (0.5, 0.5))
    return Outcome(p, contrary, AROUND, margin, uninformative=kind == "uninformative")


@pytest.mark.parametrize(
    ("main", "other", "words"),
    [
        ("holds", "fails", "reproduced"),
        ("fails", "fails", "not reproduced: the contrary holds"),
        ("fails", "holds", "reproduced under another reading: D (linear reward)"),
        (
            "undecided",
            "fails",
            "not reproduced: undecided; the contrary holds under D (linear reward)",
        ),
        ("undecided", "undecided", "not reproduced: undecided"),
        ("uninformative", "undecided", "not reproduced: all learners are about equal"),
    ],
)
def test_verdicts_in_words(main: OutcomeKind, other: OutcomeKind, words: str) -> None:
    section = lastfm()
    outcomes = {"main": _outcome(main), "linear": _outcome(other)}
    assert verdict_text(section, Verdict(section.claims[0], outcomes)) == words


def test_further_readings_are_counted() -> None:
    section = lastfm()
    outcomes = {key: _outcome("holds") for key in ("main", "linear", "log", "main-best")}
    outcomes["main"] = _outcome("fails")
    text = verdict_text(section, Verdict(section.claims[0], outcomes))
    assert text == "reproduced under another reading: D (linear reward) and 2 more"


def test_differences_show_two_digits_of_their_interval() -> None:
    assert difference_text(_outcome("holds")) == "0.50 [0.30, 0.70]"
    assert difference_text(_outcome("holds", 1.234)) == "0.50 [0.30, 0.70], margin ±1.23"
    assert measured_text(Interval(-1234.5, 10.0, 0.0, 0.0, 5)) == "−1,234 ± 10"
    assert measured_text(Interval(1.5, float("inf"), 0.0, 0.0, 1)) == "1.5 (1 replication)"
    assert (p_value_text(0.0123), p_value_text(1e-9)) == ("0.012", "< 0.0001")


def test_counts_have_no_verb_to_agree_with() -> None:
    text = count_text("Sentences", ["reproduced", "not reproduced", "reproduced", "reproduced"])
    assert text == "Sentences (4): 3 reproduced under the main reading, 1 not reproduced."
