"""The figure of one study: regret by round, and over λ or completed tasks if it has several."""

from pathlib import Path

import xarray as xr

from headstart.plotting.reports.figures import cumulative, over_training, sweep, write_panels
from headstart.plotting.reports.played import Played
from headstart.studies.toml import from_toml


def plot_overview(results: xr.Dataset, path: Path, *, trained: int | None = None) -> None:
    """Cumulative regret of every learner at its best λ, after `trained` tasks or the last number.

    Beside it, the total against λ where the study has several, and against N likewise, each
    learner at the same λ as in the first panel. The panels are those of `headstart report`.

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
    study = from_toml(str(results.attrs["study"]), str(results.attrs.get("folder", "")))
    played = Played(study, results, trained=trained)
    shown = [cumulative(played, None)]
    if len(study.regularization) > 1:
        shown.append(sweep(played))
    if results.sizes["trained"] > 1:
        shown.append(over_training(played, None))
    write_panels([path], shown)
