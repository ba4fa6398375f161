"""The figures of the paper's report: curves of each section, sweeps over λ, regret against N."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import xarray as xr

from headstart.learners.oful import ITL, ORACLE
from headstart.paper.interpretations import Interpretation, ReportSection, Results
from headstart.paper.studies import FIGURES
from headstart.plotting import curves
from headstart.plotting import study_figures as panels
from headstart.plotting.document import Picture
from headstart.plotting.study_figures import Panel, bands_text
from headstart.plotting.study_results import StudyResults
from headstart.studies.results import totals


def plot_section(section: ReportSection, results: Results, folder: Path) -> list[Picture]:
    """Plot a section's figures into the folder, as PNG and SVG."""
    tested = section.main.study.protocol == "train-then-test"
    plot = _plot_tests if tested else _plot_sequence
    return list(plot(section, results, folder))


def save(picture: Picture, folder: Path, shown: Sequence[Panel], *, share: bool = False) -> Picture:
    """Write a figure in the two formats that the documents show."""
    return panels.save(picture, folder, shown, share=share, suffixes=(".png", ".svg"))


def played_under(one: Interpretation, results: Results) -> StudyResults:
    """An interpretation's study with its results; differences are relative to ITL."""
    return StudyResults(one.study, results[one.study.name], ITL)


def _plot_tests(section: ReportSection, results: Results, folder: Path) -> Iterator[Picture]:
    main = played_under(section.main, results)
    theory = played_under(section.interpretation("linear-estimator-0.01"), results)
    yield save(
        Picture(
            f"{section.name}-reward",
            "What the captions of Figures 1 and 2 describe (their images are not in the paper's "
            "source): cumulative reward of one test task after N = 10 tasks, main interpretation. "
            f"{bands_text(main)} {_OURS}",
        ),
        folder,
        [panels.cumulative(main, value, "reward") for value in FIGURES],
        share=True,
    )
    yield save(
        Picture(
            f"{section.name}-difference",
            "The claims' differences: cumulative regret of one test task after "
            "N = 10 tasks minus ITL's, within replications, main "
            f"interpretation. Below 0 a learner has less regret than ITL. {bands_text(main)}",
        ),
        folder,
        [panels.difference(main, value, f"λ = {value:g}") for value in FIGURES],
        share=True,
    )
    yield save(
        Picture(
            f"{section.name}-theory",
            "Under the theory's linear reward, with estimators that have their own λ (0.01): "
            "cumulative regret of one test task after N = 10 tasks, on a logarithmic axis. "
            f"{bands_text(theory)}",
        ),
        folder,
        [panels.cumulative(theory, value) for value in FIGURES],
        share=True,
    )
    yield save(
        Picture(
            f"{section.name}-sweep",
            "Regret of one test task after N = 10 tasks against λ. Left: the main interpretation. "
            f"Right: the linear reward with the estimators' λ at 0.01. {bands_text(main)} "
            f"Right: {theory.replications}.",
        ),
        folder,
        [
            panels.sweep(main, "main interpretation"),
            panels.sweep(theory, "linear, estimator λ = 0.01"),
        ],
    )
    yield from _plot_curves(section, results, folder)


def _plot_curves(section: ReportSection, results: Results, folder: Path) -> Iterator[Picture]:
    ours = section.curve("ours")
    for curve in section.curves:
        if curve.key != ours.key:
            yield save(
                Picture(
                    curve.study.name,
                    f"Regret of one test task against completed tasks, {curve.label}, main "
                    f"interpretation otherwise. The Oracle and ITL do not learn across tasks. "
                    f"{bands_text(played_under(curve, results))}",
                ),
                folder,
                [_tasks(results, section.main, curve, ours, value) for value in FIGURES],
                share=True,
            )


def _plot_sequence(section: ReportSection, results: Results, folder: Path) -> Iterator[Picture]:
    main = played_under(section.main, results)
    yield save(
        Picture(
            f"{section.name}-regret",
            "Left: cumulative regret over 20 tasks of 5 rounds, main interpretation, λ = 1. "
            f"{_MINUS} {bands_text(main)} {_OURS}",
        ),
        folder,
        _beside(main),
    )
    if any(one.key == "unfiltered" for one in section.interpretations):
        yield from _plot_clusters(section, results, folder)
        return
    linear = played_under(section.interpretation("linear"), results)
    yield save(
        Picture(
            f"{section.name}-sweep",
            "Regret of all 20 tasks against λ. Left: the main interpretation. Right: the linear "
            f"reward, on a logarithmic axis. {bands_text(main)}",
        ),
        folder,
        [
            panels.sweep(main, "main interpretation"),
            panels.sweep(linear, "linear reward", log=True),
        ],
    )


def _plot_clusters(section: ReportSection, results: Results, folder: Path) -> Iterator[Picture]:
    """MovieLens: the main interpretation's few cohorts, next to clusters that share no user."""
    main = played_under(section.main, results)
    every = played_under(section.interpretation("unfiltered"), results)
    linear = played_under(section.interpretation("unfiltered-linear"), results)
    yield save(
        Picture(
            f"{section.name}-clusters",
            "The same for all 20 clusters of one clustering, which share no user. "
            f"{bands_text(every)}",
        ),
        folder,
        _beside(every),
    )
    yield save(
        Picture(
            f"{section.name}-sweep",
            "Regret of all 20 tasks against λ. Left: the main interpretation, three cohorts. "
            "Right: all 20 clusters of one clustering.",
        ),
        folder,
        [panels.sweep(main, "main interpretation"), panels.sweep(every, "all 20 clusters")],
        share=True,
    )
    yield save(
        Picture(
            f"{section.name}-linear",
            "The linear reward, all 20 clusters of one clustering: regret of all 20 tasks against "
            f"λ, and minus ITL's at the same λ. {bands_text(linear)}",
        ),
        folder,
        [panels.sweep(linear, "linear reward"), panels.sweep_difference(linear)],
    )


def _beside(played: StudyResults) -> list[Panel]:
    """Regret over the rounds at λ = 1, and the differences from ITL of all except the Oracle."""
    return [panels.cumulative(played, 1.0), panels.difference(played, 1.0, without=[ORACLE])]


_MINUS = (
    "Right: the same minus ITL's, within replications, without the Oracle; below 0 a learner has "
    "less regret than ITL."
)
_OURS = "headstart is not in the paper and has no λ."


def _tasks(
    results: Results,
    main: Interpretation,
    curve: Interpretation,
    ours: Interpretation,
    value: float,
) -> Panel:
    """Learners that learn, from the curve's study and ours; the others, flat, from the main study.

    All have the same seed, hence the same test tasks.
    """
    learned = played_under(curve, results).by_training(value)
    own = played_under(ours, results).by_training(ours.study.regularization[0])
    # The main interpretation may have more replications.
    flat = totals(results[main.study.name]).sel(
        learner=[ORACLE, ITL], replication=learned["replication"]
    )
    flat = flat.sel(regularization=value, drop=True).expand_dims(trained=learned["trained"])
    every = xr.concat([flat, learned, own], "learner", join="exact")
    order = [ORACLE, *learned["learner"].to_numpy(), ITL, "headstart"]
    unit = played_under(main, results).unit
    return f"λ = {value:g}", lambda axes: curves.plot(
        axes, every.sel(learner=order), "trained", label=f"regret of a test task ({unit})"
    )
