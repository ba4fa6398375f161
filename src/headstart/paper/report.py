"""The report: what was played, what came out, and a verdict on every claim of Section 6."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from string import ascii_uppercase

import numpy as np
import xarray as xr

from headstart.atomic import atomic_write
from headstart.intervals import Interval, interval
from headstart.paper import figures as drawings
from headstart.paper.interpretations import Chapter
from headstart.paper.verdicts import Judged, Judgement
from headstart.plotting.document import (
    Block,
    Heading,
    Items,
    Paragraph,
    Table,
    markdown,
    page,
)
from headstart.studies.results import totals, versions

Results = Mapping[str, xr.Dataset]

_RULES = [
    "The images of the paper's figures are not in its source. What a figure shows is taken from "
    "the text; an order that the text only implies is marked so.",
    "All verdicts compare pseudo-regret: the best arm's mean reward less the played arm's, summed. "
    "Its expectation is OPT's reward less the learner's, so it orders learners as the paper's "
    "cumulative reward does, with less noise.",
    "“A is better than B” holds if the 95 % interval of A − B lies below 0, fails if it lies above "
    "0, and is undecided otherwise. “About equal” holds if the interval lies within ±5 % of the "
    "second learner's mean regret. “Nearer” compares the distance between two learners' mean "
    "regrets at two values of λ.",
    "Differences are taken within a replication: all learners meet the same tasks, arms and noise. "
    "Intervals are Student's t over replications; ± is one standard error.",
    "A claim is reproduced if it holds under the main reading. If it does not, it is reproduced "
    "under another reading if it holds there; all readings that were tried are shown. With this "
    "many comparisons, about one in twenty would exclude 0 by chance if nothing differed.",
    "“Each learner at its best λ” takes for each learner the λ of the grid with the lowest mean "
    "regret in the same replications, which favours all learners alike.",
]


# What it means that a claim does not hold.
_CONTRARY = {"fails": "the contrary holds", "undecided": "undecided"}


def write(chapters: Sequence[Chapter], results: Results, out: Path) -> list[tuple[str, Judged]]:
    """Write figures, report.md and report.html; return the verdicts by chapter."""
    figures = out / "figures"
    verdicts = {chapter.name: chapter.judge(dict(results)) for chapter in chapters}
    blocks = list(_opening(chapters, verdicts))
    for chapter in chapters:
        blocks += _chapter(chapter, verdicts[chapter.name], results, figures)
    blocks += [Heading("How the verdicts are reached"), Items(_RULES), *_closing(chapters)]
    for name, text in (
        ("report.md", markdown(blocks, "figures")),
        ("report.html", page(blocks, figures)),
    ):
        with atomic_write(out / name) as part:
            part.write_text(text, encoding="utf-8")
    return [(name, judged) for name, every in verdicts.items() for judged in every]


def short(judged: Judged) -> str:
    """The verdict in words, with the first reading that it rests on."""
    if judged.verdict == "reproduced":
        return "reproduced"
    if judged.verdict == "not reproduced":
        return f"not reproduced: {_CONTRARY[judged.main.outcome]}"
    more = len(judged.holds_under) - 1
    also = f" and {more} more" if more else ""
    return f"reproduced under another reading: {judged.holds_under[0]}{also}"


def difference(judgement: Judgement) -> str:
    """A difference with its interval."""
    d = judgement.difference
    places = _places((d.high - d.low) / 2)
    mean, low, high = (_number(value, places) for value in (d.mean, d.low, d.high))
    note = f", {judgement.note}" if judgement.note else ""
    return f"{mean} [{low}, {high}]{note}"


def _opening(
    chapters: Sequence[Chapter], verdicts: Mapping[str, Sequence[Judged]]
) -> Iterator[Block]:
    every = [judged for some in verdicts.values() for judged in some]
    held = sum(judged.verdict == "reproduced" for judged in every)
    other = sum(judged.verdict == "reproduced under another reading" for judged in every)
    yield Heading("Section 6 of the paper, claim by claim", 1)
    yield Paragraph(
        "Meta-learning with Stochastic Linear Bandits (Cella, Lazaric and Pontil, ICML 2020) shows "
        "four figures. This report plays their experiments again and judges what the paper says "
        f"about them. Of {len(every)} claims, {held} are reproduced under the main reading, "
        f"{other} under another reading of what the paper leaves open, and "
        f"{len(every) - held - other} are not reproduced."
    )
    rows = []
    for chapter in chapters:
        for number, judged in enumerate(verdicts[chapter.name], 1):
            n = str(judged.main.difference.replications)
            rows.append(
                [f"{chapter.name}\N{NO-BREAK SPACE}{number}", judged.claim, short(judged), n]
            )
    yield Table(["", "claim", "verdict", "n"], rows, frozenset({0, 1, 2}))


def _chapter(
    chapter: Chapter, verdicts: Sequence[Judged], results: Results, figures: Path
) -> Iterator[Block]:
    main = chapter.readings[0].study
    yield Heading(chapter.title)
    players = ", ".join(learner.name for learner in main.learners)
    protocol = (
        f"{main.tasks} tasks in a row"
        if main.protocol == "sequence"
        else f"{main.test_tasks} test tasks, each from the memory of {main.training_tasks[0]} "
        "training tasks"
    )
    yield Paragraph(
        f"{players}; {protocol} of {main.horizon} rounds; {main.replications} replications, seed "
        f"{main.seed}; λ from {min(main.regularization):g} to {max(main.regularization):g}."
    )
    yield Paragraph(f"The main reading: {chapter.choices}")
    yield from drawings.draw(chapter, results, figures)
    yield Heading("Totals", 3)
    yield _totals(chapter, results)
    yield Heading("Verdicts", 3)
    yield _verdicts(chapter, verdicts)
    yield Heading("Readings", 3)
    yield Paragraph(
        "The main reading is A. Every other one changes what it names and nothing else. "
        "“yes”: the claim holds; “no”: the contrary holds; “?”: undecided; “–”: the claim is about "
        "λ itself."
    )
    letters = _letters(chapter)
    yield Items([f"{letters[reading.label]}: {reading.label}" for reading in chapter.readings])
    yield _matrix(chapter, verdicts)


def _totals(chapter: Chapter, results: Results) -> Table:
    reading = chapter.readings[0]
    dataset = results[reading.study.name]
    if "trained" in dataset.dims:
        dataset = dataset.sel(trained=10)
    shown = [value for value in (1.0, 100.0) if value in dataset["regularization"]]
    header, rows = ["learner"], []
    for value in shown:
        header += [f"reward, λ = {value:g}", f"regret, λ = {value:g}"]
    header += ["best λ", "regret there"]
    for name in dataset["learner"].to_numpy():
        of = dataset.sel(learner=name)
        row = [str(name)]
        for value in shown:
            at = of.sel(regularization=value)
            row += [_measured(totals(at, variable)) for variable in ("reward", "regret")]
        means = totals(of).mean("replication")
        best = float(means["regularization"][int(np.argmin(means.to_numpy()))])
        fixed = bool(np.ptp(means.to_numpy()) == 0)
        row += [
            "any" if fixed else _regularization(best),
            _measured(totals(of.sel(regularization=best))),
        ]
        rows.append(row)
    return Table(header, rows)


def _verdicts(chapter: Chapter, verdicts: Sequence[Judged]) -> Table:
    letters = _letters(chapter)
    rows = []
    for number, (claim, judged) in enumerate(zip(chapter.claims, verdicts, strict=True), 1):
        verdict, detail = short(judged), f"A: {difference(judged.main)}"
        if judged.main.outcome != "holds" and judged.holds_under:
            verdict = "reproduced under " + ", ".join(letters[at] for at in judged.holds_under)
            first = judged.holds_under[0]
            detail += f"; {letters[first]}: {difference(judged.judgements[first])}"
        n = str(judged.main.difference.replications)
        rows.append([str(number), claim.text, claim.source, verdict, detail, n])
    header = ["", "claim", "where", "verdict", "difference of regrets, 95 % interval", "n"]
    return Table(header, rows, frozenset({0, 1, 2, 3, 4}))


def _matrix(chapter: Chapter, verdicts: Sequence[Judged]) -> Table:
    letters = _letters(chapter)
    words = {"holds": "yes", "fails": "no", "undecided": "?"}
    rows = []
    for number, judged in enumerate(verdicts, 1):
        row = [f"{number}. {judged.claim}"]
        for label in letters:
            found = judged.judgements.get(label)
            row.append(words[found.outcome] if found else "–")
        rows.append(row)
    held = ["claims that hold"]
    for label in letters:
        judged_here = [
            judged.judgements[label] for judged in verdicts if label in judged.judgements
        ]
        count = sum(judgement.outcome == "holds" for judgement in judged_here)
        held.append(f"{count}/{len(judged_here)}")
    return Table(["claim", *letters.values()], [*rows, held])


def _closing(chapters: Sequence[Chapter]) -> Iterator[Block]:
    yield Heading("How to run it again", 3)
    main = chapters[0].readings[0].study
    name = chapters[0].name if len(chapters) == 1 else "all"
    used = ", ".join(f"{name} {number}" for name, number in versions().items())
    yield Paragraph(f"headstart reproduce {name} --seed {main.seed}. Made with {used}.")


def _letters(chapter: Chapter) -> dict[str, str]:
    return {reading.label: ascii_uppercase[i] for i, reading in enumerate(chapter.readings)}


def _measured(values: xr.DataArray) -> str:
    found: Interval = interval(values.to_numpy())
    places = _places(found.error)
    return f"{_number(found.mean, places)} ± {_number(found.error, places)}"


def _places(error: float) -> int:
    """The decimals that show two digits of an error."""
    if error == 0 or not np.isfinite(error):
        return 0
    return min(6, max(0, 1 - int(np.floor(np.log10(error)))))


def _number(value: float, places: int) -> str:
    return f"{value:,.{places}f}".replace("-", "−")


def _regularization(value: float) -> str:
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"
