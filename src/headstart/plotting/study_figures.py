"""Figures of a study: over rounds, completed tasks and λ, each next to its differences."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Literal

import xarray as xr
from matplotlib.axes import Axes

from headstart import environments
from headstart.plotting import curves
from headstart.plotting.document import Picture
from headstart.plotting.numbers import regularization_text
from headstart.plotting.style import SUFFIXES, figure
from headstart.specs import Spec
from headstart.studies.summary import Summary
from headstart.studies.toml import of_results

# A title, and what plots the panel.
Panel = tuple[str, Callable[[Axes], None]]

# What is shown along a dimension.
Along = Literal["round", "task", "trained", "regularization"]
_WHAT: dict[Along, str] = {
    "round": "cumulative {}",
    "task": "{} per task",
    "trained": "{} of a test task",
    "regularization": "{}",
}


def plot_overview(results: xr.Dataset, path: str | Path, *, trained: int | None = None) -> None:
    """Cumulative regret of every learner at its best λ, after `trained` tasks or the last number.

    Next to it is the total against λ if the study has several, and likewise against N, each learner
    at the same λ as in the first panel. `headstart report` has the same panels.

    Parameters
    ----------
    results : xarray.Dataset
        The results of a study.
    path : str or Path
        The file to write.
    trained : int, optional
        The number of training tasks; the last of the study by default.

    Examples
    --------
    >>> from pathlib import Path
    >>> from headstart import plotting, studies
    >>> from headstart.specs import Spec
    >>> oful = Spec(kind="OFUL")
    >>> study = studies.Study(
    ...     name="small",
    ...     environment=Spec(kind="Synthetic", settings={"reward": "linear"}),
    ...     learners=(
    ...         studies.LearnerSpec(name="ITL", policy=oful, prior=Spec(kind="Fixed")),
    ...         studies.LearnerSpec(name="RR", policy=oful, prior=Spec(kind="Pooled")),
    ...     ),
    ...     horizon=20,
    ...     tasks=5,
    ...     replications=10,
    ... )
    >>> results = studies.run(study, Path("out/small"), workers=1)
    >>> plotting.plot_overview(results, Path("regret.png"))
    """
    study = of_results(results)
    played = Summary(study, results, trained=trained)
    panels = [panel(played, "round")]
    if len(study.regularization) > 1:
        panels.append(panel(played, "regularization"))
    if results.sizes["trained"] > 1:
        panels.append(panel(played, "trained"))
    write_panels([Path(path)], panels)


def study_figures(played: Summary, values: Sequence[float], folder: Path) -> Iterator[Picture]:
    """Write the figures of a study, and yield each: at every learner's best λ, then at `values`."""
    right = "" if played.reference is None else f"; right, minus {played.reference}'s"
    for value in (None, *values):
        name = "best" if value is None else f"{value:g}"
        at, sample = chosen_text(played, value), bands_text(played, played.compared(value))
        panels = _both(played, "round", value)
        caption = f"Cumulative regret{played.after}{at}{right}. {sample}"
        yield save(Picture(f"rounds-{name}", caption), folder, panels)
        if len(played.study.training_tasks) > 1 and played.study.protocol == "train-then-test":
            panels = _both(played, "trained", value)
            at = chosen_text(played, value, played.after)
            caption = f"Regret of a test task against completed tasks N{at}{right}. {sample}"
            yield save(Picture(f"tasks-{name}", caption), folder, panels)
        elif played.results.sizes["task"] > 1:
            panels = _both(played, "task", value)
            caption = f"Regret task by task{at}{right}. {sample}"
            yield save(Picture(f"tasks-{name}", caption), folder, panels)
    if len(played.study.regularization) > 1:
        panels = _both(played, "regularization", None)
        same = f"{right}, all learners at the same λ" if right else ""
        caption = f"Regret against λ{played.after}{same}. {bands_text(played)}"
        yield save(Picture("regularization", caption), folder, panels)


def save(
    picture: Picture,
    folder: Path,
    panels: Sequence[Panel],
    *,
    share: bool = False,
    suffixes: Sequence[str] = SUFFIXES,
) -> Picture:
    """Write a figure, by default as PNG, SVG and PDF."""
    write_panels([folder / f"{picture.name}{suffix}" for suffix in suffixes], panels, share=share)
    return picture


def write_panels(paths: Sequence[Path], panels: Sequence[Panel], *, share: bool = False) -> None:
    """Plot panels side by side, their legend below them, and write them to every path."""
    with figure(*paths, columns=len(panels), height=2.8, share=share, legend=True) as axes:
        for axis, (title, plot) in zip(axes, panels, strict=True):
            plot(axis)
            axis.set_title(title)
        if share:
            for axis in axes[1:]:
                axis.set_ylabel("")


def panel(
    played: Summary,
    along: Along,
    value: float | None = None,
    *,
    paired: bool = False,
    variable: str = "regret",
    title: str | None = None,
    without: Sequence[str] = (),
    log: bool = False,
) -> Panel:
    """A variable at one λ, or at each learner's best, along rounds, tasks, N or λ.

    If `paired`, it is the regret minus the reference's, with bands of the paired differences.
    `without` are learners to leave out, for instance because they would take most of the height.
    """
    what = _WHAT[along].format(variable)
    label = f"difference in {what}" if paired else what
    if along == "regularization":
        values = played.regrets
    elif along == "trained":
        values = played.by_training(value)
    else:
        values = played.chosen(value, variable)
    if without:
        values = values.sel(learner=[name for name in played.learners if name not in without])
    return title or (minus_text(played) if paired else _title(played, along, value)), (
        lambda axes: curves.plot(
            axes,
            values,
            along,
            label=f"{label} ({unit_of(played.study.environment)})",
            reference=played.reference if paired else None,
            log=log,
        )
    )


def _title(played: Summary, along: Along, value: float | None) -> str:
    if along == "regularization":
        return f"over λ{played.after}"
    if along == "trained" and value is None:
        swept = len(played.study.regularization) > 1
        return f"each at its best λ (N = {played.trained})" if swept else "over completed tasks"
    return at_text(played, value) + (played.after if along == "round" else "")


def at_text(played: Summary, value: float | None) -> str:
    """The λ of a panel; "regret" if the study has one λ, which needs no choice."""
    if value is not None:
        return f"λ = {regularization_text(value)}"
    return "each at its best λ" if len(played.study.regularization) > 1 else "regret"


def chosen_text(played: Summary, value: float | None, after: str = "") -> str:
    """How the λ of a figure or table was chosen, after a comma; empty if there is one λ."""
    if value is not None:
        return f", λ = {regularization_text(value)}"
    if len(played.study.regularization) == 1:
        return ""
    return f", each learner at its λ of least regret{after}"


def minus_text(played: Summary) -> str:
    """The title of a panel of differences."""
    return f"minus {played.reference}, paired"


# The unit of a linear reward in the published data sets; a 0/1 reward counts wins everywhere.
_UNITS = {"Ratings.lastfm": "plays", "Ratings.movielens": "stars"}


def unit_of(environment: Spec) -> str:
    """The unit of reward in an environment."""
    if _setting(environment, "reward") == "winner":
        return "wins"
    unit = _UNITS.get(environment.kind, "units of reward")
    return f"log(1 + {unit})" if _setting(environment, "transform") == "log" else unit


def _setting(environment: Spec, name: str) -> object:
    """A setting of an environment, or its default."""
    if name in environment.settings:
        return environment.settings[name]
    found = getattr(environments, environment.kind.split(".")[0], None)
    if found is None or not is_dataclass(found):
        return None
    return next((field.default for field in fields(found) if field.name == name), None)


def bands_text(played: Summary, values: xr.DataArray | None = None) -> str:
    """What the bands are, and over how many independent replications of the values."""
    n = (played.regrets if values is None else values).sizes["replication"]
    if n == 1:
        return "One replication, no bands."
    total = played.study.replications
    of = f" of {total} replications" if played.counted == "cohorts" else ""
    return f"Bands are 95 % over {n} {played.counted}{of}."


def _both(played: Summary, along: Along, value: float | None) -> list[Panel]:
    """A panel, and next to it its differences from the reference, if there is one."""
    differences = [] if played.reference is None else [panel(played, along, value, paired=True)]
    return [panel(played, along, value), *differences]
