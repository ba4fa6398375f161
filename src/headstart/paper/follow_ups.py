"""The follow-up papers: their experiments played again, and a verdict on every claim."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from headstart.paper import figures
from headstart.paper.follow_up_sections import GP_UCB, LIN_UCB, TS, sections
from headstart.paper.interpretations import ReportSection, Results
from headstart.paper.report import Verdicts, count_text, run_named
from headstart.paper.tables import outcome_table, regret_table, summary_table, verdict_table
from headstart.paper.verdicts import Verdict
from headstart.plotting import study_figures as panels
from headstart.plotting.document import Block, Heading, Items, Paragraph, Picture, write_document
from headstart.plotting.study_figures import Panel, bands_text
from headstart.plotting.study_results import StudyResults
from headstart.progress import Progress
from headstart.studies.digests import versions

# Learners that would take most of the height of a figure.
_FAR = (GP_UCB, LIN_UCB, "Greedy")

_RULES = [
    "Regret is pseudo-regret: the best arm's mean reward minus the played arm's, summed over all "
    "tasks, or of one test task where so said. All learners play the same tasks, arms and noise, "
    "and differences are taken within a replication. Intervals are Student's t, 95 %, over n "
    "replications; ± is one standard error.",
    "“A is better than B” holds if the interval of A − B is below 0, fails if it is above 0, and "
    "is undecided otherwise. “A is nearer to B than to C” holds if the interval of (A − B) − "
    "(C − A) is below 0: A closes more than half of the gap.",
    "A published number is reproduced if the interval of our mean is within ±5 % of it; the "
    "contrary holds if the interval is outside, and it is undecided across the edge. The published "
    "numbers are taken as exact, though they are means of trials too.",
    "A claim is reproduced if it holds in the main setting A. If it does not, it is reproduced "
    "under another interpretation if it holds in one of the other settings.",
    "Most of these papers show curves. What they say of them is given as an order, in our words; "
    "no number was read off a curve.",
]


def reproduce(
    out: Path,
    *,
    replications: int | None = None,
    seed: int = 0,
    workers: int | None = None,
    scheduler: str | None = None,
    progress: Progress | None = None,
) -> Verdicts:
    """Run studies without results, and write follow-ups.md and .html; return the verdicts."""
    every = [one.with_settings(replications=replications, seed=seed) for one in sections()]
    studies = {name: study for one in every for name, study in one.studies().items()}
    results = run_named(studies, out, workers=workers, scheduler=scheduler, progress=progress)
    return write_report(every, results, out)


def write_report(every: Sequence[ReportSection], results: Results, out: Path) -> Verdicts:
    """Write figures and follow-ups.md and .html; return the verdicts by section."""
    verdicts = [(section, section.verdicts(results)) for section in every]
    kinds = [verdict.kind for _, some in verdicts for verdict in some]
    blocks: list[Block] = [
        Heading("Follow-up papers, claim by claim", 1),
        Paragraph(
            "Four papers that came after Meta-learning with Stochastic Linear Bandits, and the "
            "table of a paper about policies, each in its own setting. "
            + count_text("Claims", kinds)
        ),
        summary_table(verdicts),
    ]
    for section, some in verdicts:
        blocks += _section(section, some, results, out / "figures")
    blocks += [Heading("How the verdicts are reached"), Items(_RULES)]
    used = ", ".join(f"{name} {number}" for name, number in versions().items())
    seed = every[0].main.study.seed
    blocks += [
        Heading("How to run it again", 3),
        Paragraph(f"headstart reproduce follow-ups --seed {seed}. Made with {used}."),
    ]
    write_document(blocks, out / "follow-ups.md", out / "follow-ups.html", figures="figures")
    return verdicts


def _section(
    section: ReportSection, verdicts: Sequence[Verdict], results: Results, folder: Path
) -> Iterator[Block]:
    main = section.main.study
    yield Heading(section.title)
    yield Paragraph(section.choices)
    played = StudyResults(main, results[main.name], against=main.learners[0].name)
    picture = Picture(f"follow-ups-{main.name}", f"{_caption(played)} {bands_text(played)}")
    yield figures.save(picture, folder, _panels(played))
    yield regret_table([section], results)
    yield verdict_table(section, verdicts)
    if len(section.interpretations) > 1:
        yield Paragraph(
            "Other settings. “yes”: the claim holds; “no”: the contrary holds; “?”: undecided."
        )
        yield outcome_table(section, verdicts)


def _panels(played: StudyResults) -> list[Panel]:
    study = played.study
    if study.protocol == "train-then-test":
        return [panels.over_training(played, None), panels.cumulative(played, None)]
    if study.tasks > 1:
        over = ("task by task", panels.per_task(played, None)[1])
        # Overlapping tasks have no rounds one after another.
        return [over] if study.schedule else [panels.cumulative(played, None), over]
    kept = tuple(one for one in study.learners if one.name not in _FAR)
    near = replace(played, study=replace(study, learners=kept))
    return [panels.cumulative(near, None), panels.difference(near, None)]


def _caption(played: StudyResults) -> str:
    study = played.study
    if study.protocol == "train-then-test":
        return "Regret of a test task against completed tasks, and over its rounds after the last."
    if study.tasks > 1:
        return "Regret task by task." if study.schedule else "Regret over rounds and task by task."
    return f"Regret over rounds, and minus {TS}'s, without {', '.join(_FAR)}: far above."
