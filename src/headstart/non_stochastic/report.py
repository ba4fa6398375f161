"""The report on non-stochastic tasks: run the studies, write tables, a figure and verdicts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import xarray as xr

from headstart.intervals import interval
from headstart.non_stochastic import growth, published
from headstart.non_stochastic.growth import Growth
from headstart.paper.interpretations import ReportSection
from headstart.paper.report import Verdicts, count_text
from headstart.paper.reproduce import run_named
from headstart.paper.tables import outcome_table, summary_table
from headstart.plotting.document import Block, Cell, Heading, Items, Paragraph, Picture, Table
from headstart.plotting.files import write_document
from headstart.plotting.numbers import measured_text
from headstart.plotting.style import figure, style
from headstart.progress import Progress
from headstart.studies.digests import versions
from headstart.studies.results import totals
from headstart.studies.study import Study

Results = Mapping[str, xr.Dataset]

# Regret grows linearly where the interval of its exponent is above this, and less where below.
LINEAR = 0.9


_RULES = [
    "A published number is reproduced if the 95 % interval of our mean regret is within ±5 % of "
    "it; the contrary holds if the interval is outside, and it is undecided across the edge. We "
    "know no standard errors of the published numbers and take them as exact.",
    "“A is better than B” holds if the 95 % interval of A − B is below 0. Differences are taken "
    "within a replication, in which all learners play the same tasks and arms.",
    "Intervals are Student's t over replications; ± is one standard error.",
]


def reproduce(
    out: Path,
    *,
    replications: int | None = None,
    seed: int = 0,
    cosines: Sequence[float] = tuple(published.PUBLISHED),
    horizons: Sequence[int] = growth.HORIZONS,
    workers: int | None = None,
    scheduler: str | None = None,
    progress: Progress | None = None,
) -> Verdicts:
    """Run the studies, write non-stochastic.md, .html and the figure; return the verdicts."""
    sections = [
        published.section(cosine).with_settings(replications=replications, seed=seed)
        for cosine in cosines
    ]
    studies: dict[str, Study] = {}
    for one in sections:
        studies |= one.studies()
    for adversary in growth.ADVERSARIES:
        for horizon in horizons:
            made = growth.study(adversary, horizon, seed=seed)
            studies[made.name] = replace(made, replications=replications or made.replications)
    results = run_named(studies, out, workers=workers, scheduler=scheduler, progress=progress)
    return _write(sections, results, horizons, out)


def _write(
    sections: Sequence[ReportSection], results: Results, horizons: Sequence[int], out: Path
) -> Verdicts:
    verdicts = [(section, section.verdicts(results)) for section in sections]
    by_adversary: dict[str, Sequence[Growth]] = {
        adversary: growth.growths({h: results[f"{adversary}-{h}"] for h in horizons})
        for adversary in growth.ADVERSARIES
    }
    blocks = [
        Heading("Non-stochastic tasks", 1),
        *_published(verdicts, results),
        *_growth(by_adversary, horizons, out / "figures", results),
        *_closing(sections[0].main.study.seed),
    ]
    paths = (out / "non-stochastic.md", out / "non-stochastic.html")
    write_document(blocks, *paths, figures="figures")
    return verdicts


def _published(verdicts: Verdicts, results: Results) -> Iterator[Block]:
    kinds = [verdict.kind for _, some in verdicts for verdict in some]
    yield Paragraph(
        "Meta-LinEXP3 (Li, Xu and Xie, 2026) plays tasks in which an adversary chooses the losses. "
        + count_text("Claims of its table", kinds)
    )
    yield Heading("The published table")
    yield Paragraph(
        "20 tasks of 30 rounds, 40 arms, 5 features; total regret, with the published value in "
        "brackets. The last three learners assume one parameter per task, which is so here."
    )
    yield _regret_table([section for section, _ in verdicts], results)
    yield Paragraph(published.CHOICES)
    yield summary_table(verdicts)
    for section, some in verdicts:
        yield Heading(section.title, 3)
        yield outcome_table(section, some)


def _regret_table(sections: Sequence[ReportSection], results: Results) -> Table:
    header = ["learner", *(section.name for section in sections)]
    regrets = [totals(results[section.main.study.name]) for section in sections]
    values = [published.numbers(section) for section in sections]
    rows = []
    for learner in sections[0].main.study.learners:
        row = [learner.name]
        for found, table in zip(regrets, values, strict=True):
            mean = interval(found.sel(learner=learner.name).isel(regularization=0).to_numpy())
            theirs = f" ({table[learner.name]:g})" if learner.name in table else ""
            row.append(measured_text(mean) + theirs)
        rows.append(row)
    return Table(header, rows)


def _growth(
    by_adversary: Mapping[str, Sequence[Growth]],
    horizons: Sequence[int],
    figures: Path,
    results: Results,
) -> Iterator[Block]:
    n = results[f"{growth.ADVERSARIES[0]}-{horizons[0]}"].sizes["replication"]
    yield Heading("Growth with the horizon")
    yield Paragraph(
        "Regret per task of the environment NonStochastic, against one comparator, mean of "
        f"{growth.TASKS} tasks, {n} replications. The exponent a of regret ∝ horizonᵃ is between "
        "the first and the last horizon, with its 95 % interval: 1 is linear, 1/2 is what "
        "exponential weights guarantee, up to logarithms. “Linear” and “below linear” say that "
        "the interval is above or below 0.9. Learners with a noise scale are told the true one; "
        "Hierarchical learns it."
    )
    picture = Picture(
        "non-stochastic-growth",
        "Regret per task against the horizon, both logarithmic. Grey: the stochastic learners. "
        "Bands: 95 % intervals of the other two.",
    )
    _plot(
        by_adversary,
        horizons,
        [figures / f"non-stochastic-growth.{kind}" for kind in ("png", "svg")],
    )
    yield picture
    for adversary, found in by_adversary.items():
        yield Heading(f"{adversary.capitalize()} adversary", 3)
        yield growth_table(found, horizons)


def growth_table(found: Sequence[Growth], horizons: Sequence[int]) -> Table:
    """Regrets by horizon, the exponent, and what it says."""
    rows: list[list[str | Cell]] = []
    for one in found:
        cell = Cell("undecided")
        if one.exponent.high < LINEAR:
            cell = Cell("below linear", "positive")
        elif one.exponent.low > LINEAR:
            cell = Cell("linear", "negative")
        regrets = [measured_text(regret) for regret in one.regrets]
        rows.append([one.learner, *regrets, f"{one.exponent:.2f}", cell])
    header = ["learner", *(f"{h} rounds" for h in horizons), "exponent", "growth"]
    return Table(header, rows)


def _plot(
    by_adversary: Mapping[str, Sequence[Growth]], horizons: Sequence[int], paths: Sequence[Path]
) -> None:
    robust = [learner.name for learner in growth.ROBUST]
    with figure(*paths, columns=len(by_adversary), share=True) as panels:
        for axes, (adversary, found) in zip(panels, by_adversary.items(), strict=True):
            axes.set_xscale("log")
            axes.set_yscale("log")
            label: str | None = "stochastic learners"
            for one in found:
                mean = [regret.mean for regret in one.regrets]
                if one.learner in robust:
                    own = dict(style(one.learner, robust))
                    axes.plot(horizons, mean, marker="o", markersize=3, label=one.learner, **own)
                    low, high = ([getattr(r, e) for r in one.regrets] for e in ("low", "high"))
                    axes.fill_between(horizons, low, high, color=own["color"], alpha=0.2, lw=0)
                else:
                    axes.plot(horizons, mean, color="#999999", linewidth=0.9, label=label)
                    label = None
            axes.set_xticks(list(horizons), [str(h) for h in horizons])
            axes.minorticks_off()
            axes.set_title(f"{adversary} adversary")
            axes.set_xlabel("rounds per task")
        panels[0].set_ylabel("regret per task")
        panels[0].legend(loc="upper left")


def _closing(seed: int) -> Iterator[Block]:
    yield Heading("How the verdicts are reached")
    yield Items(_RULES)
    yield Heading("How to run it again", 3)
    used = ", ".join(f"{name} {number}" for name, number in versions().items())
    yield Paragraph(f"headstart reproduce non-stochastic --seed {seed}. Made with {used}.")
