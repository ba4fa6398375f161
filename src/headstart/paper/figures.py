"""The figures of the paper's report: curves of each section, sweeps over λ, regret against N."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import xarray as xr

from headstart.learners.oful import AVG, ITL, ORACLE, RR
from headstart.paper.readings import Reading, Results, Section
from headstart.paper.studies import FIGURES, OURS
from headstart.plotting import curves
from headstart.plotting import study_figures as panels
from headstart.plotting.document import Picture
from headstart.plotting.study_figures import Panel, bands_text, unit_of
from headstart.studies.results import totals
from headstart.studies.summary import Summary

_OURS = "headstart is not in the paper and has no λ."


def plot_section(section: Section, results: Results, folder: Path) -> list[Picture]:
    """Plot a section's figures into the folder, as PNG and SVG."""
    if section.curves:
        shown = _tests(section, results)
    elif any(one.key == "unfiltered" for one in section.readings):
        shown = _clusters(section, results)
    else:
        shown = _sequence(section, results)
    return [
        panels.save(
            Picture(f"{section.name}-{name}", caption),
            folder,
            figure,
            share=share,
            suffixes=(".png", ".svg"),
        )
        for name, caption, figure, share in shown
    ]


# Name, caption, panels, and whether the panels share an axis.
_Figure = tuple[str, str, Sequence[Panel], bool]


def _tests(section: Section, results: Results) -> Iterator[_Figure]:
    main = section.main.played(results)
    yield (
        "reward",
        "What the captions of Figures 1 and 2 describe (their images are not in the paper's "
        "source): cumulative reward of one test task after N = 10 tasks, main reading. "
        f"{bands_text(main)} {_OURS}",
        [panels.panel(main, "round", value, variable="reward") for value in FIGURES],
        True,
    )
    yield (
        "difference",
        "The claims' differences: cumulative regret of one test task after N = 10 tasks minus "
        "ITL's, within replications, main reading. Below 0 a learner has less regret than ITL. "
        f"{bands_text(main)}",
        [
            panels.panel(main, "round", value, paired=True, title=f"λ = {value:g}")
            for value in FIGURES
        ],
        True,
    )
    theory = section.reading("linear-estimator-0.01").played(results)
    yield (
        "theory",
        "Under the theory's linear reward, with estimators that have their own λ (0.01): "
        "cumulative regret of one test task after N = 10 tasks, on a logarithmic axis. "
        f"{bands_text(theory)}",
        [panels.panel(theory, "round", value) for value in FIGURES],
        True,
    )
    apart = section.reading("avg-0.01")
    sweeps = [section.reading(f"sweep-{one.key}").played(results) for one in (section.main, apart)]
    yield (
        "sweep",
        "Regret of one test task after N = 10 tasks against λ. Left: the main reading. "
        f"Right: {apart.label}. {bands_text(sweeps[0])}",
        [
            panels.panel(played, "regularization", title=title)
            for played, title in zip(sweeps, ("main reading", apart.label), strict=True)
        ],
        True,
    )
    for one in (section.main, apart):
        tasks = section.reading(f"tasks-{one.key}")
        yield (
            tasks.key,
            f"Regret of one test task against completed tasks, {one.label} reading. The Oracle and "
            f"ITL do not learn across tasks. {bands_text(tasks.played(results))}",
            [_over_tasks(results, section.main, tasks, value) for value in FIGURES],
            True,
        )


def _over_tasks(results: Results, main: Reading, tasks: Reading, value: float) -> Panel:
    """Learners that learn; the Oracle and ITL flat, from the main study: the same test tasks."""
    learned = tasks.played(results).by_training(value)
    flat = totals(results[main.study.name]).sel(
        learner=[ORACLE, ITL], replication=learned["replication"]
    )
    flat = flat.sel(regularization=value, drop=True).expand_dims(trained=learned["trained"])
    every = xr.concat([flat, learned], "learner", join="exact")
    return f"λ = {value:g}", lambda axes: curves.plot(
        axes,
        every.sel(learner=[ORACLE, AVG, RR, ITL, OURS]),
        "trained",
        label=f"regret of a test task ({unit_of(main.study.environment)})",
    )


def _sequence(section: Section, results: Results) -> Iterator[_Figure]:
    main = section.main.played(results)
    yield _regret(main)
    linear = section.reading("linear").played(results)
    yield (
        "sweep",
        "Regret of all 20 tasks against λ. Left: the main reading. Right: the linear reward, on a "
        f"logarithmic axis. {bands_text(main)}",
        [
            panels.panel(main, "regularization", title="main reading"),
            panels.panel(linear, "regularization", title="linear reward", log=True),
        ],
        False,
    )


def _clusters(section: Section, results: Results) -> Iterator[_Figure]:
    """MovieLens: the main reading's few cohorts, next to clusters that share no user."""
    main = section.main.played(results)
    every = section.reading("unfiltered").played(results)
    linear = section.reading("unfiltered-linear").played(results)
    yield _regret(main)
    yield (
        "clusters",
        f"The same for all 20 clusters of one clustering, which share no user. {bands_text(every)}",
        _beside(every),
        False,
    )
    yield (
        "sweep",
        "Regret of all 20 tasks against λ. Left: the main reading, three cohorts. "
        "Right: all 20 clusters of one clustering.",
        [
            panels.panel(main, "regularization", title="main reading"),
            panels.panel(every, "regularization", title="all 20 clusters"),
        ],
        True,
    )
    yield (
        "linear",
        "The linear reward, all 20 clusters of one clustering: regret of all 20 tasks against "
        f"λ, and minus ITL's at the same λ. {bands_text(linear)}",
        [
            panels.panel(linear, "regularization", title="linear reward"),
            panels.panel(linear, "regularization", paired=True),
        ],
        False,
    )


def _regret(main: Summary) -> _Figure:
    return (
        "regret",
        "Left: cumulative regret over 20 tasks of 5 rounds, main reading, λ = 1. Right: the same "
        "minus ITL's, within replications, without the Oracle; below 0 a learner has less regret "
        f"than ITL. {bands_text(main)} {_OURS}",
        _beside(main),
        False,
    )


def _beside(played: Summary) -> list[Panel]:
    """Regret over the rounds at λ = 1, and the differences from ITL of all except the Oracle."""
    return [
        panels.panel(played, "round", 1.0),
        panels.panel(played, "round", 1.0, paired=True, without=[ORACLE]),
    ]
