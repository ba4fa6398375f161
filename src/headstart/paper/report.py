"""The report: what was played, what resulted, and a verdict on every sentence of Section 6."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import xarray as xr

from headstart.paper.claims import SENTENCES, TOGETHER
from headstart.paper.figures import played_under, plot_section
from headstart.paper.interpretations import ReportSection, Results
from headstart.paper.studies import FIGURES
from headstart.paper.tables import outcome_table, sentence_table, verdict_table
from headstart.paper.verdicts import (
    SentenceKind,
    SentenceVerdict,
    Verdict,
    VerdictKind,
    by_sentence,
    hold_together,
)
from headstart.plotting.document import (
    SUFFIXES,
    Block,
    Heading,
    Items,
    Paragraph,
    write_document,
    write_tables,
)
from headstart.plotting.study_report import paired_table, setting_text, totals_table
from headstart.progress import Progress
from headstart.studies.digests import code_digest, versions
from headstart.studies.runner import run_all
from headstart.studies.study import Study

Verdicts = list[tuple[ReportSection, list[Verdict]]]

_RULES = [
    "The images of the paper's figures are not in its source. A sentence of the text counts once, "
    "however many claims it makes; an order that only a figure would show is implied, and counted "
    "apart.",
    "All verdicts compare pseudo-regret: the best arm's mean reward minus the played arm's, "
    "summed. Its expectation is OPT's reward minus the learner's, so it orders learners as the "
    "paper's cumulative reward does, with less noise.",
    "A difference is written as what is subtracted from what. “A is better than B” holds if the "
    "95 % interval of A − B is below 0, fails if it is above 0, and is undecided otherwise. “About "
    "equal” holds if the interval is within ±5 % of the second learner's mean regret. “Nearer” "
    "compares the distance between two learners' mean regrets at two values of λ.",
    "Differences are taken within a replication: all learners play the same tasks, arms and noise. "
    "Intervals are Student's t over n replications, or over n cohorts if replications share "
    "users; ± is one standard error.",
    "A claim is reproduced if it holds under the main interpretation. If it does not, it is "
    "reproduced under another interpretation if it holds there; all interpretations that were "
    "tried are shown. An interpretation under which AVG-OFUL, RR-OFUL and ITL (and the Oracle, "
    "if the claim is about it) are all about equal is uninformative, whatever the claim.",
    "A sentence is reproduced if all its claims are; under another interpretation, if all its "
    "claims hold together under one; in part, if some of its claims hold under the main one.",
    "With this many comparisons, about one in twenty would exclude 0 by chance if nothing "
    "differed. The tables of differences show p-values with Holm's correction as well.",
    "“Each learner at its best λ” takes for each learner the λ of the grid with the lowest mean "
    "regret in the same replications, which favours all learners alike.",
]


def reproduce(
    sections: Sequence[ReportSection],
    out: Path,
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    progress: Progress | None = None,
) -> Verdicts:
    """Run studies without results, and write the report with its figures; return the verdicts."""
    studies = {name: study for section in sections for name, study in section.studies().items()}
    results = run_named(studies, out, workers=workers, scheduler=scheduler, progress=progress)
    return write_report(sections, results, out)


def run_named(
    studies: Mapping[str, Study],
    out: Path,
    *,
    workers: int | None,
    scheduler: str | None,
    progress: Progress | None,
) -> dict[str, xr.Dataset]:
    """The results of studies by name, in `out/results`; existing results are not played again.

    A study's folder is named after everything its numbers depend on, so results of other settings
    or other code are never used for it.
    """
    folders = {
        name: out / "results" / f"{name}-{study.digest}-{code_digest()[:8]}"
        for name, study in studies.items()
    }
    results = run_all(
        {folders[name]: study for name, study in studies.items()},
        workers=workers,
        scheduler=scheduler,
        progress=progress,
    )
    return {name: results[folders[name]] for name in studies}


def write_report(sections: Sequence[ReportSection], results: Results, out: Path) -> Verdicts:
    """Write figures, tables and report.md and .html; return the verdicts by section."""
    verdicts = [(section, section.verdicts(results)) for section in sections]
    blocks = list(_opening(verdicts))
    for section, some in verdicts:
        blocks += _section(section, some, results, out / "figures")
    blocks += [Heading("How the verdicts are reached"), Items(_RULES), *_closing(sections)]
    documents = [out / f"report{suffix}" for suffix in SUFFIXES]
    write_document(blocks, *documents, figures="figures")
    write_tables(blocks, out / "tables")
    return verdicts


def _opening(verdicts: Verdicts) -> Iterator[Block]:
    sections = {section.name: section for section, _ in verdicts}
    sentences = by_sentence(SENTENCES, {section.name: some for section, some in verdicts})
    implied = [v.kind for _, some in verdicts for v in some if v.claim.sentence is None]
    yield Heading("Section 6 of the paper, sentence by sentence", 1)
    yield Paragraph(
        "Meta-learning with Stochastic Linear Bandits (Cella, Lazaric and Pontil, ICML 2020) shows "
        "four figures, whose images are not in its source. This report plays their experiments "
        "again and judges what the paper says about them. "
        + count_text("Sentences", [sentence.kind for sentence in sentences])
        + (" " + count_text("Implied orders", implied) if implied else "")
    )
    described = [one for one in sentences if one.sentence in TOGETHER]
    if len(described) == len(TOGETHER):
        yield Paragraph(_together_text(described), strong=True)
    yield sentence_table(sentences, sections)


def _together_text(described: Sequence[SentenceVerdict]) -> str:
    """Under how many interpretations sentences about the same curves hold together."""
    holding, n = hold_together(described)
    quotes = " and ".join(f"“{one.sentence.quote}”" for one in described)
    under = f"{len(holding) or 'none'} of {n} interpretations"
    return f"{quotes} describe the same curves, and hold together under {under}."


def count_text(what: str, kinds: Sequence[SentenceKind | VerdictKind]) -> str:
    """How many of each kind of verdict: "Sentences: 3 of 7 reproduced, …"."""
    words: dict[SentenceKind, str] = {
        "reproduced": "reproduced under the main interpretation",
        "reproduced otherwise": "under another interpretation of what the paper leaves open",
        "in part": "in part",
        "not reproduced": "not reproduced",
    }
    counts = [f"{kinds.count(kind)} {text}" for kind, text in words.items() if kind in kinds]
    return f"{what} ({len(kinds)}): {', '.join(counts)}."


def _section(
    section: ReportSection, verdicts: Sequence[Verdict], results: Results, figures: Path
) -> Iterator[Block]:
    main = section.main.study
    played = played_under(section.main, results)
    yield Heading(section.title)
    yield Paragraph(setting_text(main) + _data_text(section))
    yield Paragraph(f"The main interpretation: {section.choices}")
    yield from plot_section(section, results, figures)
    yield Heading("Totals", 3)
    values = [value for value in FIGURES if value in main.regularization]
    yield totals_table(played, values, f"{section.name}-totals")
    yield Heading("Claims", 3)
    yield verdict_table(section, verdicts)
    yield Heading("Differences from ITL at λ = 1", 3)
    table = paired_table(played, 1.0, f"{section.name}-paired")
    if table is not None:
        yield Paragraph(table.caption)
        yield table
    yield Heading("Interpretations", 3)
    yield Paragraph(
        "The main interpretation is A. Every other one changes only what it names. "
        "“yes”: the claim holds; “no”: the contrary holds; “?”: undecided; “=”: uninformative, all "
        "learners are about equal; “–”: the claim is about λ itself. “AVG < RR, λ = 1”: AVG-OFUL "
        "has less regret than RR-OFUL there."
    )
    yield outcome_table(section, verdicts)


def _data_text(section: ReportSection) -> str:
    """The shape of the data after the paper's filter, if there are data."""
    filtered = getattr(section.main.study.environment_built(), "filtered", None)
    if filtered is None:
        return ""
    users, items = filtered.shape
    return f" After the paper's filter: {users} users × {items} items, {len(filtered):,} ratings."


def _closing(sections: Sequence[ReportSection]) -> Iterator[Block]:
    yield Heading("How to run it again", 3)
    name = sections[0].name if len(sections) == 1 else "all"
    used = ", ".join(f"{name} {number}" for name, number in versions().items())
    seed = sections[0].main.study.seed
    yield Paragraph(f"headstart reproduce {name} --seed {seed}. Made with {used}.")
