"""The report's tables, and verdicts in words: sentences, claims, and all readings."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from headstart.paper.readings import Section
from headstart.paper.rules import Outcome, OutcomeKind
from headstart.paper.verdicts import SentenceVerdict, Verdict
from headstart.plotting.document import Table
from headstart.plotting.numbers import interval_text

_OUTCOMES: dict[OutcomeKind, str] = {
    "holds": "yes",
    "fails": "no",
    "undecided": "?",
    "uninformative": "=",
}


def sentence_table(sentences: Sequence[SentenceVerdict], sections: Mapping[str, Section]) -> Table:
    """One row per sentence of the paper, with the claims that it makes."""
    rows: list[list[str]] = []
    for verdict in sentences:
        about = ", ".join(
            f"{name} {_numbers(sections[name], verdicts)}"
            for name, verdicts in verdict.verdicts.items()
        )
        text = sentence_text(verdict, sections)
        sentence = verdict.sentence
        rows.append([f"“{sentence.quote}”", sentence.where, about, text])
    return Table(
        ["sentence", "where", "claims", "verdict"], rows, frozenset({0, 1, 2, 3}), name="sentences"
    )


def verdict_table(section: Section, verdicts: Sequence[Verdict]) -> Table:
    """Each claim, its verdict and the underlying difference, with its sign and n."""
    letters = section.letters()
    rows: list[list[str]] = []
    for number, verdict in enumerate(verdicts, 1):
        claim = verdict.claim
        detail = difference_text(verdict.main)
        if verdict.kind == "reproduced otherwise":
            first = verdict.holds_under[0]
            detail += f"; {letters[first]}: {difference_text(verdict.outcomes[first])}"
        source = f"implied, {claim.implied}" if claim.sentence is None else "said"
        rows.append(
            [
                str(number),
                claim.text,
                source,
                verdict_text(section, verdict),
                claim.rule.difference,
                detail,
                str(verdict.main.difference.replications),
            ]
        )
    header = ["", "claim", "said or implied", "verdict", "difference", "mean, 95 % interval", "n"]
    return Table(header, rows, frozenset(range(6)), name=f"{section.name}-claims")


def outcome_table(section: Section, verdicts: Sequence[Verdict]) -> Table:
    """Every reading, with its letter and meaning, and what holds under it."""
    letters = section.letters()
    rows: list[list[str]] = []
    for one in section.readings:
        outcomes = [verdict.outcomes.get(one.key) for verdict in verdicts]
        cells = [_OUTCOMES[outcome.kind] if outcome else "–" for outcome in outcomes]
        judged = [outcome.kind for outcome in outcomes if outcome]
        rows.append(
            [f"{letters[one.key]}: {one.label}", *cells, f"{judged.count('holds')}/{len(judged)}"]
        )
    header = [
        "reading",
        *(f"{number}. {verdict.claim.short}" for number, verdict in enumerate(verdicts, 1)),
        "hold",
    ]
    return Table(header, rows, name=f"{section.name}-readings")


def verdict_records(
    by_section: Sequence[tuple[Section, Sequence[Verdict]]],
) -> list[dict[str, object]]:
    """Every claim with its verdict, unrounded, for JSON."""
    return [
        {
            "section": section.name,
            "claim": verdict.claim.text,
            "sentence": None if verdict.claim.sentence is None else verdict.claim.sentence.quote,
            "verdict": verdict.kind,
            "marginal": verdict.marginal,
            "outcome": verdict.main.kind,
            "difference": verdict.claim.rule.difference,
            **asdict(verdict.main.difference),
        }
        for section, verdicts in by_section
        for verdict in verdicts
    ]


# What it means that a claim does not hold.
_CONTRARY: dict[OutcomeKind, str] = {
    "fails": "the contrary holds",
    "undecided": "undecided",
    "uninformative": "all learners are about equal",
}


def verdict_text(section: Section, verdict: Verdict) -> str:
    """The verdict in words, with the readings behind it."""
    if verdict.kind == "reproduced":
        return "reproduced, marginal" if verdict.marginal else "reproduced"
    if verdict.kind == "reproduced otherwise":
        return f"reproduced under another reading: {named(section, verdict.holds_under)}"
    text = f"not reproduced: {_CONTRARY[verdict.main.kind]}"
    if verdict.main.kind != "fails" and verdict.fails_under:
        text += f"; the contrary holds under {named(section, verdict.fails_under)}"
    return text


def sentence_text(verdict: SentenceVerdict, sections: Mapping[str, Section]) -> str:
    """The verdict on a sentence in words."""
    n, k = len(verdict.claims), verdict.n_reproduced
    if verdict.kind == "reproduced":
        marginal = any(claim.marginal for claim in verdict.claims)
        return "reproduced, marginal" if marginal else "reproduced"
    if verdict.kind == "in part":
        return f"reproduced in part: {k} of {n} claims"
    if verdict.kind == "not reproduced":
        alone = all(one.kind == "reproduced otherwise" for one in verdict.claims)
        return "not reproduced" + (": its claims never hold together" if alone and n > 1 else "")
    where = [
        f"{name}, {named(sections[name], keys)}"
        for name, keys in verdict.joint.items()
        if keys[0] != sections[name].main.key
    ]
    return f"reproduced under another reading: {'; '.join(where)}"


def named(section: Section, keys: Sequence[str]) -> str:
    """The first of these readings, with letter and meaning, and how many more."""
    first, *more = keys
    also = f" and {len(more)} more" if more else ""
    return f"{section.letters()[first]} ({section.reading(first).label}){also}"


def difference_text(outcome: Outcome) -> str:
    """A difference with its interval, and the margin if there is one."""
    margin = "" if outcome.margin is None else f", margin ±{outcome.margin:.3g}"
    return f"{interval_text(outcome.difference)}{margin}"


def _numbers(section: Section, verdicts: Sequence[Verdict]) -> str:
    claims = list(section.claims)
    return ", ".join(str(1 + claims.index(verdict.claim)) for verdict in verdicts)
