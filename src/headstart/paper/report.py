"""The report: what was played, what came out, and a verdict on every claim of Section 6."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from headstart.paper.figures import plot_section
from headstart.paper.interpretations import ReportSection, Results
from headstart.paper.tables import outcome_table, summary_table, totals_table, verdict_table
from headstart.paper.verdicts import Verdict
from headstart.plotting.document import Block, Heading, Items, Paragraph, write_document
from headstart.studies.provenance import versions

Verdicts = list[tuple[ReportSection, list[Verdict]]]

_RULES = [
    "The images of the paper's figures are not in its source. What a figure shows is taken from "
    "the text; an order that the text only implies is marked so.",
    "All verdicts compare pseudo-regret: the best arm's mean reward less the played arm's, summed. "
    "Its expectation is OPT's reward less the learner's, so it orders learners as the paper's "
    "cumulative reward does, with less noise.",
    "“A is better than B” holds if the 95 % interval of A − B is below 0, fails if it is above "
    "0, and is undecided otherwise. “About equal” holds if the interval is within ±5 % of the "
    "second learner's mean regret. “Nearer” compares the distance between two learners' mean "
    "regrets at two values of λ.",
    "Differences are taken within a replication: all learners play the same tasks, arms and noise. "
    "Intervals are Student's t over replications; ± is one standard error.",
    "A claim is reproduced if it holds under the main interpretation. If it does not, it is "
    "reproduced under another interpretation if it holds there; all interpretations that were "
    "tried are shown. With this many comparisons, about one in twenty would exclude 0 by chance if "
    "nothing differed.",
    "“Each learner at its best λ” takes for each learner the λ of the grid with the lowest mean "
    "regret in the same replications, which favours all learners alike.",
]


def write_report(sections: Sequence[ReportSection], results: Results, out: Path) -> Verdicts:
    """Write figures, report.md and report.html; return the verdicts by section."""
    verdicts = [(section, section.verdicts(results)) for section in sections]
    blocks = list(_opening(verdicts))
    for section, some in verdicts:
        blocks += _section(section, some, results, out / "figures")
    blocks += [Heading("How the verdicts are reached"), Items(_RULES), *_closing(sections)]
    write_document(blocks, out / "report.md", out / "report.html", figures="figures")
    return verdicts


def _opening(verdicts: Verdicts) -> Iterator[Block]:
    kinds = [verdict.kind for _, some in verdicts for verdict in some]
    yield Heading("Section 6 of the paper, claim by claim", 1)
    yield Paragraph(
        "Meta-learning with Stochastic Linear Bandits (Cella, Lazaric and Pontil, ICML 2020) shows "
        "four figures. This report plays their experiments again and judges what the paper says "
        f"about them. Of {len(kinds)} claims, {kinds.count('reproduced')} are reproduced under the "
        f"main interpretation, {kinds.count('reproduced otherwise')} under another interpretation "
        f"of what the paper leaves open, and {kinds.count('not reproduced')} are not reproduced."
    )
    yield summary_table(verdicts)


def _section(
    section: ReportSection, verdicts: Sequence[Verdict], results: Results, figures: Path
) -> Iterator[Block]:
    main = section.main.study
    yield Heading(section.title)
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
    yield Paragraph(f"The main interpretation: {section.choices}")
    yield from plot_section(section, results, figures)
    yield Heading("Totals", 3)
    yield totals_table(section, results)
    yield Heading("Verdicts", 3)
    yield verdict_table(section, verdicts)
    yield Heading("Interpretations", 3)
    yield Paragraph(
        "The main interpretation is A. Every other one changes what it names and nothing else. "
        "“yes”: the claim holds; “no”: the contrary holds; “?”: undecided; “–”: the claim is about "
        "λ itself."
    )
    letters = section.letters()
    yield Items([f"{letters[one.key]}: {one.label}" for one in section.interpretations])
    yield outcome_table(section, verdicts)


def _closing(sections: Sequence[ReportSection]) -> Iterator[Block]:
    yield Heading("How to run it again", 3)
    name = sections[0].name if len(sections) == 1 else "all"
    used = ", ".join(f"{name} {number}" for name, number in versions().items())
    seed = sections[0].main.study.seed
    yield Paragraph(f"headstart reproduce {name} --seed {seed}. Made with {used}.")
