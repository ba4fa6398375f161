"""Non-stochastic tasks: the published table of Meta-LinEXP3, and how regret grows with the horizon.

The table is from Li, Xu and Xie (2026): total regret by the similarity of tasks.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
import xarray as xr

from headstart import learners
from headstart.intervals import Interval, interval, interval_from
from headstart.paper.bayes_ucb import PublishedBayesUCB
from headstart.paper.claims import Claim
from headstart.paper.interpretations import Interpretation, ReportSection, Results
from headstart.paper.report import Verdicts, count_text, run_named
from headstart.paper.rules import Equals, Lower, Side
from headstart.paper.tables import outcome_table, regret_table, summary_table
from headstart.plotting.document import (
    Block,
    Heading,
    Items,
    Paragraph,
    Picture,
    Table,
    write_document,
)
from headstart.plotting.numbers import measured_text, true_minus
from headstart.plotting.style import figure, style
from headstart.policies import OFUL, Thompson
from headstart.progress import Progress
from headstart.specs import Spec
from headstart.studies.digests import versions
from headstart.studies.results import totals
from headstart.studies.study import LearnerSpec, Study

LIN_EXP3, UNIFORM, PCRW = "LinEXP3", "Meta-LinEXP3, uniform", "Meta-LinEXP3, PCRW"

# Pairwise cosine of tasks: total regret over m = 20 tasks of n = 30 rounds, k = 40 arms, d = 5.
PUBLISHED = {
    -1.0: {LIN_EXP3: 104.4, PCRW: 99.1},
    -0.5: {LIN_EXP3: 105.6, PCRW: 93.3},
    0.5: {LIN_EXP3: 107.1, PCRW: 87.3},
    1.0: {LIN_EXP3: 103.0, PCRW: 80.2},
}

_SOURCE = "Li, Xu and Xie (2026), total regret at this cosine"

# Stochastic learners for comparison. There is no noise: 0.1 is a tenth of the largest reward.
_COMPARED = (
    LearnerSpec.of(learners.itl(policy=OFUL(noise_scale=0.1))),
    LearnerSpec.of(learners.lin_ts(noise_variance=0.01, prior_variance=0.01)),
    LearnerSpec.of(learners.headstart()),
)


def published_section(cosine: float) -> ReportSection:
    """One row of the table: its claims under every interpretation of the open details."""
    row = PUBLISHED[cosine]
    numbers = [
        Claim(
            f"{name} has a regret of {value:g}",
            f"{name}: {value:g}",
            Equals(name, value),
            implied=_SOURCE,
        )
        for name, value in row.items()
    ]
    better = Lower(Side(PCRW, 1.0), Side(LIN_EXP3, 1.0))
    cosine_text = true_minus(f"{cosine:g}")
    text = "Meta-LinEXP3 with PCRW is better than LinEXP3"
    return ReportSection(
        name=f"cosine {cosine_text}",
        title=f"Pairwise cosine of at least {cosine_text}",
        choices=_CHOICES,
        interpretations=[
            Interpretation("known", "L is a known bound of ‖b‖", _study(cosine, "known")),
            Interpretation("seen", "L is the largest ‖b‖ seen so far", _study(cosine, "seen")),
            Interpretation("one", "L = 1", _study(cosine, "one")),
        ],
        claims=[*numbers, Claim(text, "PCRW < LinEXP3", better, implied=_SOURCE)],
    )


_CHOICES = (
    "The paper states neither the length of a task's parameter nor how tasks with a pairwise "
    "cosine are drawn. Here lengths are uniform in [0, 0.5], which was chosen for its agreement "
    "with LinEXP3's regret, and directions are uniform in the cone of half the angle. The bound L "
    "of ‖b‖ is known (A), the largest seen so far (B), or 1 (C)."
)

_BOUNDS: dict[str, dict[str, object]] = {
    "known": {"arm_bound": "@arm_bound"},
    "seen": {},
    "one": {"arm_bound": 1.0},
}


def _study(cosine: float, bound: str) -> Study:
    starts = {LIN_EXP3: "none", UNIFORM: "uniform", PCRW: "pcrw"}
    agents = tuple(
        LearnerSpec(
            name=name,
            agent=Spec(kind="MetaLinEXP3", settings={"start": start, **_BOUNDS[bound]}),
        )
        for name, start in starts.items()
    )
    return Study(
        name=f"published-{cosine:g}-{bound}",
        environment=Spec(kind="Ellipsoid", settings={"cosine": cosine}),
        learners=agents + (_COMPARED if bound == "known" else ()),
        horizon=30,
        tasks=20,
        replications=400,
        shard=100,
    )


Adversary = Literal["switching", "reacting"]

ADVERSARIES: tuple[Adversary, ...] = ("switching", "reacting")
HORIZONS = (1000, 2000, 4000)
TASKS = 2
NOISE = 0.1

_OFUL = OFUL(noise_scale=NOISE, failure_probability=0.01)
_VARIANCE = NOISE**2

# Every stochastic learner here knows the true noise.
STOCHASTIC = tuple(
    LearnerSpec.of(agent)
    for agent in (
        learners.itl(policy=_OFUL),
        learners.avg_oful(policy=_OFUL),
        learners.rr_oful(policy=_OFUL),
        learners.pooled_oful(policy=_OFUL),
        learners.lin_ts(noise_variance=_VARIANCE),
        learners.meta_ts(noise_variance=_VARIANCE),
        learners.ada_ts(name="AdaTS, HierTS", noise_variance=_VARIANCE),
        learners.hier_bayes_ucb(noise_variance=_VARIANCE),
        learners.headstart(),
        learners.headstart(name="… growing z", policy=PublishedBayesUCB()),
        learners.headstart(name="… Thompson", policy=Thompson()),
    )
)
ROBUST = tuple(
    LearnerSpec.of(agent)
    for agent in (learners.lin_exp3(n_tasks=TASKS), learners.meta_lin_exp3(n_tasks=TASKS))
)


def growth_study(
    adversary: Adversary, horizon: int, *, replications: int = 80, seed: int = 0
) -> Study:
    """Two tasks of this horizon against the adversary, for every learner."""
    return Study(
        name=f"{adversary}-{horizon}",
        environment=Spec(kind="NonStochastic", settings={"adversary": adversary}),
        learners=STOCHASTIC + ROBUST,
        horizon=horizon,
        tasks=TASKS,
        replications=replications,
        shard=40,
        seed=seed,
    )


@dataclass(frozen=True)
class Growth:
    """A learner's regret per task at every horizon, and the exponent a of regret ∝ horizonᵃ."""

    learner: str
    regrets: tuple[Interval, ...]
    exponent: Interval


def growths(results: Mapping[int, xr.Dataset]) -> list[Growth]:
    """Every learner's growth, from the results by horizon."""
    by_horizon = {horizon: totals(results[horizon]).isel(regularization=0) for horizon in results}
    names = [str(name) for name in next(iter(results.values()))["learner"].to_numpy()]
    return [
        _growth_of(
            name,
            {
                horizon: np.asarray(regrets.sel(learner=name)) / TASKS
                for horizon, regrets in by_horizon.items()
            },
        )
        for name in names
    ]


def _growth_of(name: str, regrets: Mapping[int, np.ndarray]) -> Growth:
    """The exponent between the first and the last horizon, its error by the delta method."""
    means = {horizon: interval(values) for horizon, values in regrets.items()}
    first, last = min(means), max(means)
    one, two = means[first], means[last]
    span = math.log(last / first)
    if min(one.mean, two.mean) <= 0.0:
        # No regret is no growth.
        return Growth(name, tuple(means.values()), interval_from(0.0, math.inf, one.replications))
    mean = math.log(two.mean / one.mean) / span
    error = math.hypot(one.error / one.mean, two.error / two.mean) / span
    return Growth(name, tuple(means.values()), interval_from(mean, error, one.replications))


# Regret grows linearly if the interval of its exponent is above this, and more slowly if below.
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
    cosines: Sequence[float] = tuple(PUBLISHED),
    horizons: Sequence[int] = HORIZONS,
    workers: int | None = None,
    scheduler: str | None = None,
    progress: Progress | None = None,
) -> Verdicts:
    """Run the studies, write non-stochastic.md, .html and the figure; return the verdicts."""
    sections = [
        published_section(cosine).with_settings(replications=replications, seed=seed)
        for cosine in cosines
    ]
    studies: dict[str, Study] = {}
    for one in sections:
        studies |= one.studies()
    for adversary in ADVERSARIES:
        for horizon in horizons:
            made = growth_study(adversary, horizon, seed=seed)
            studies[made.name] = replace(made, replications=replications or made.replications)
    results = run_named(studies, out, workers=workers, scheduler=scheduler, progress=progress)
    return _write(sections, results, horizons, out)


def _write(
    sections: Sequence[ReportSection], results: Results, horizons: Sequence[int], out: Path
) -> Verdicts:
    verdicts = [(section, section.verdicts(results)) for section in sections]
    by_adversary: dict[str, Sequence[Growth]] = {
        adversary: growths({h: results[f"{adversary}-{h}"] for h in horizons})
        for adversary in ADVERSARIES
    }
    blocks = [
        Heading("Non-stochastic tasks", 1),
        *_published_blocks(verdicts, results),
        *_growth_blocks(by_adversary, horizons, out / "figures", results),
        *_closing(sections[0].main.study.seed),
    ]
    paths = (out / "non-stochastic.md", out / "non-stochastic.html")
    write_document(blocks, *paths, figures="figures")
    return verdicts


def _published_blocks(verdicts: Verdicts, results: Results) -> Iterator[Block]:
    kinds = [verdict.kind for _, some in verdicts for verdict in some]
    yield Paragraph(
        "Meta-LinEXP3 (Li, Xu and Xie, 2026) plays tasks in which an adversary chooses the losses. "
        + count_text("Claims of its table", kinds)
    )
    yield Heading("The published table")
    yield Paragraph(
        "20 tasks of 30 rounds, 40 arms, 5 features; total regret, with the published value in "
        "brackets. The last three learners assume one parameter per task, which is true here."
    )
    yield regret_table([section for section, _ in verdicts], results)
    yield Paragraph(_CHOICES)
    yield summary_table(verdicts)
    for section, some in verdicts:
        yield Heading(section.title, 3)
        yield outcome_table(section, some)


def _growth_blocks(
    by_adversary: Mapping[str, Sequence[Growth]],
    horizons: Sequence[int],
    figures: Path,
    results: Results,
) -> Iterator[Block]:
    n = results[f"{ADVERSARIES[0]}-{horizons[0]}"].sizes["replication"]
    yield Heading("Growth with the horizon")
    yield Paragraph(
        "Regret per task of the environment NonStochastic, against one comparator, mean of "
        f"{TASKS} tasks, {n} replications. The exponent a of regret ∝ horizonᵃ is between "
        "the first and the last horizon, with its 95 % interval: 1 is linear, 1/2 is what "
        "exponential weights guarantee, up to logarithms. “Linear” and “below linear” say that "
        "the interval is above or below 0.9. Learners with a noise scale know the true one; "
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
    for adversary, of_learners in by_adversary.items():
        yield Heading(f"{adversary.capitalize()} adversary", 3)
        yield growth_table(of_learners, horizons)


def growth_table(of_learners: Sequence[Growth], horizons: Sequence[int]) -> Table:
    """Regrets by horizon, the exponent, and what it says."""
    rows: list[list[str]] = []
    for one in of_learners:
        cell = "undecided"
        if one.exponent.high < LINEAR:
            cell = "below linear"
        elif one.exponent.low > LINEAR:
            cell = "linear"
        regrets = [measured_text(regret) for regret in one.regrets]
        rows.append([one.learner, *regrets, f"{one.exponent:.2f}", cell])
    header = ["learner", *(f"{h} rounds" for h in horizons), "exponent", "growth"]
    return Table(header, rows)


def _plot(
    by_adversary: Mapping[str, Sequence[Growth]], horizons: Sequence[int], paths: Sequence[Path]
) -> None:
    robust = [learner.name for learner in ROBUST]
    with figure(*paths, columns=len(by_adversary), share=True) as panels:
        for axes, (adversary, of_learners) in zip(panels, by_adversary.items(), strict=True):
            axes.set_xscale("log")
            axes.set_yscale("log")
            label: str | None = "stochastic learners"
            for one in of_learners:
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
