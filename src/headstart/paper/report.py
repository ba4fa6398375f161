"""The report: what was played, what resulted, and a verdict on every sentence of Section 6."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from headstart.paper.claims import SENTENCES, TOGETHER
from headstart.paper.figures import plot_section
from headstart.paper.readings import Results, Section
from headstart.paper.studies import FIGURES
from headstart.paper.tables import named, outcome_table, sentence_table, verdict_table
from headstart.paper.verdicts import Kind, SentenceVerdict, Verdict, by_sentence, holding, shared
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
from headstart.studies.digests import versions
from headstart.studies.folder import Pieces
from headstart.studies.runner import play

Verdicts = list[tuple[Section, list[Verdict]]]

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
    "Intervals are Student's t over n replications; ± is one standard error. MovieLens's groups of "
    "users are a list that replications take in turn, so its intervals are over n cohorts: groups "
    "that share users. LastFM's groups are drawn at random, so its replications are independent "
    "groups of one data set, though not of other users.",
    "A claim is reproduced if it holds under the main reading, and marginal if it does not hold "
    "with Holm's correction over all claims of its section. If it does not hold under the main "
    "reading, it is reproduced under another reading if it holds there with Holm's correction over "
    "all others; all that were tried are shown, each by itself. A reading under which AVG-OFUL, "
    "RR-OFUL and ITL (and the Oracle, if the claim is about it) are all about equal is "
    "uninformative, whatever the claim.",
    "A sentence is reproduced if all its claims are; under another reading, if all its claims hold "
    "together under one, corrected in the same way; in part, if some of its claims hold under the "
    "main one.",
    "The readings were found with other seeds than the one below, which judges all of them.",
    "“Each learner at its best λ” takes for each learner the λ of the grid with the lowest mean "
    "regret in every fourth replication, and its regret in the others.",
]


def reproduce(
    sections: Sequence[Section],
    out: Path,
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    progress: Progress | None = None,
) -> Verdicts:
    """Run studies without results, and write the report with its figures; return the verdicts."""
    studies = {name: study for section in sections for name, study in section.studies().items()}
    played = play(
        list(studies.values()),
        Pieces(out / "results"),
        workers=workers,
        scheduler=scheduler,
        progress=progress,
    )
    return write_report(sections, dict(zip(studies, played, strict=True)), out)


def write_report(sections: Sequence[Section], results: Results, out: Path) -> Verdicts:
    """Write figures, tables and report.md and .html; return the verdicts by section."""
    by_section = [(section, section.verdicts(results)) for section in sections]
    blocks = list(_opening(by_section))
    for section, verdicts in by_section:
        blocks += _section(section, verdicts, results, out / "figures")
    blocks += [Heading("How the verdicts are reached"), Items(_RULES), *_closing(sections)]
    documents = [out / f"report{suffix}" for suffix in SUFFIXES]
    write_document(blocks, *documents, figures="figures")
    write_tables(blocks, out / "tables")
    return by_section


def _opening(by_section: Verdicts) -> Iterator[Block]:
    sections = {section.name: section for section, _ in by_section}
    sentences = by_sentence(SENTENCES, {section.name: verdicts for section, verdicts in by_section})
    implied = [
        verdict.kind
        for _, verdicts in by_section
        for verdict in verdicts
        if verdict.claim.sentence is None
    ]
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
        yield Paragraph(_together_text(described, sections), strong=True)
    yield sentence_table(sentences, sections)


def _together_text(described: Sequence[SentenceVerdict], sections: Mapping[str, Section]) -> str:
    """Under how many readings sentences about the same curves hold together."""
    claims = [claim for one in described for claim in one.claims]
    (name,) = described[0].verdicts
    keys = holding(claims)
    quotes = " and ".join(f"“{one.sentence.quote}”" for one in described)
    under = f"{len(keys) or 'none'} of {len(shared(claims))} readings"
    which = f": {named(sections[name], keys)}" if keys else ""
    return f"{quotes} describe the same curves, and hold together under {under}{which}."


def count_text(what: str, kinds: Sequence[Kind]) -> str:
    """How many of each kind of verdict: "Sentences: 3 of 7 reproduced, …"."""
    words: dict[Kind, str] = {
        "reproduced": "reproduced under the main reading",
        "reproduced otherwise": "under another reading of what the paper leaves open",
        "in part": "in part",
        "not reproduced": "not reproduced",
    }
    counts = [f"{kinds.count(kind)} {text}" for kind, text in words.items() if kind in kinds]
    return f"{what} ({len(kinds)}): {', '.join(counts)}."


def _section(
    section: Section, verdicts: Sequence[Verdict], results: Results, figures: Path
) -> Iterator[Block]:
    played = section.main.played(results)
    yield Heading(section.title)
    yield Paragraph(setting_text(played.study) + _data_text(section))
    yield Paragraph(f"The main reading: {section.choices}")
    yield from plot_section(section, results, figures)
    yield Heading("Totals", 3)
    values = [value for value in FIGURES if value in played.study.regularization]
    yield totals_table(played, values, f"{section.name}-totals")
    yield Heading("Claims", 3)
    yield verdict_table(section, verdicts)
    yield Heading("Differences from ITL at λ = 1", 3)
    table = paired_table(played, 1.0, f"{section.name}-paired")
    if table is not None:
        yield Paragraph(table.caption)
        yield table
    yield Heading("Readings", 3)
    yield Paragraph(
        "The main reading is A. Every other one changes only what it names. “yes”: the claim holds "
        "at 5 % there, uncorrected; “no”: the contrary; “?”: undecided; “=”: uninformative, all "
        "learners are about equal; “–”: the claim is about λ itself. “AVG < RR, λ = 1”: AVG-OFUL "
        "has less regret than RR-OFUL there."
    )
    yield outcome_table(section, verdicts)


def _data_text(section: Section) -> str:
    """The shape of the data after the paper's filter, if there are data."""
    filtered = getattr(section.main.study.environment_built(), "filtered", None)
    if filtered is None:
        return ""
    users, items = filtered.shape
    return f" After the paper's filter: {users} users × {items} items, {len(filtered):,} ratings."


def _closing(sections: Sequence[Section]) -> Iterator[Block]:
    yield Heading("How to run it again", 3)
    name = sections[0].name if len(sections) == 1 else "all"
    used = ", ".join(f"{name} {number}" for name, number in versions().items())
    seed = sections[0].main.study.seed
    yield Paragraph(f"headstart reproduce {name} --seed {seed}. Made with {used}.")
