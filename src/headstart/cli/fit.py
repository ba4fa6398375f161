"""`headstart fit`: learn a prior from a log, and save the bandit that starts from it."""

import re
import time as clock
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.console import Console

from headstart.cli.output import WrongInput

if TYPE_CHECKING:
    from headstart import MetaBandit
    from headstart.logs import LogReport


Logs = Annotated[
    list[str], typer.Argument(help="Parquet or CSV files, folders or patterns of them.")
]
Out = Annotated[Path, typer.Option(help="The file of the saved bandit.")]
Task = Annotated[str, typer.Option(help="The column that names the task.")]
Features = Annotated[
    str,
    typer.Option(
        help='A column of lists, several columns: "x1, x2, x3", or a file with a schema: shop.json.'
    ),
]
Arm = Annotated[
    str | None, typer.Option(help="The column that names an item of --items, instead of features.")
]
Items = Annotated[
    Path | None, typer.Option(help="A CSV or Parquet file: the column id, and columns of numbers.")
]
Reward = Annotated[str, typer.Option(help="The column of rewards.")]
Weight = Annotated[str | None, typer.Option(help="The column of weights.")]
RowId = Annotated[
    str | None,
    typer.Option("--id", help="The column of row ids; of rows with one id, the first counts."),
]
Time = Annotated[
    str | None,
    typer.Option(help="The column of times: seconds, timestamps, or text in ISO 8601."),
]
About = Annotated[
    str | None, typer.Option(help='Columns that are constant within a task: "age, member".')
]
TaskType = Annotated[
    Literal["str", "int"] | None, typer.Option(help="Read the names of tasks as this type.")
]
OnBad = Annotated[
    Literal["raise", "drop"], typer.Option(help="Refuse a log with bad rows, or drop them.")
]
Grouped = Annotated[
    bool, typer.Option("--grouped-by-task", help="Rows of a task are consecutive; saves memory.")
]
RememberTasks = Annotated[
    bool, typer.Option("--remember-tasks", help="Tasks of the log continue when they come back.")
]
PolicyWords = Annotated[
    list[str] | None, typer.Option(help="A policy and its settings: z=slow. Repeatable.")
]
PriorWords = Annotated[
    list[str] | None,
    typer.Option(help="A prior estimator and its settings: covariance=full. Repeatable."),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", help="A setting of MetaBandit: discount=0.99, reward_range=0,1. Repeatable."
    ),
]
SettingsFile = Annotated[
    Path | None,
    typer.Option(
        "--settings", help="A TOML file of settings; tables policy and prior name a class."
    ),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Read and report; learn and save nothing.")]
Json = Annotated[bool, typer.Option("--json", help="Print the report as JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")]


def fit(
    logs: Logs,
    *,
    out: Out = Path("bandit.npz"),
    task: Task = "task",
    features: Features = "features",
    arm: Arm = None,
    items: Items = None,
    reward: Reward = "reward",
    weight: Weight = None,
    row_id: RowId = None,
    time: Time = None,
    about: About = None,
    task_type: TaskType = None,
    on_bad: OnBad = "raise",
    grouped_by_task: Grouped = False,
    remember_tasks: RememberTasks = False,
    policy: PolicyWords = None,
    prior: PriorWords = None,
    settings: Settings = None,
    settings_file: SettingsFile = None,
    dry_run: DryRun = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Learn a warm start from a log, and save the bandit."""
    from headstart.cli.output import print_json
    from headstart.cli.settings import names_of

    try:
        columns: dict[str, Any] = {
            "task": task,
            "features": _features(features) if arm is None else _of_items(arm, items, features),
            "reward": reward,
            "weight": weight,
            "id": row_id,
            "time": time,
            "about": () if about is None else names_of(about),
            "task_type": task_type,
        }
        given = (settings_file, settings or [], policy or [], prior or [])
        if dry_run:
            report = _check(logs, columns, given, grouped_by_task, quiet)
            lines = [str(report), *_refusal(report, on_bad), "Nothing was learned or saved."]
        else:
            reading = {
                "on_bad": on_bad,
                "grouped_by_task": grouped_by_task,
                "remember_tasks": remember_tasks,
            }
            bandit, report = _learn(logs, columns | reading, given, out, quiet)
            lines = [report.summary(), *_learned(bandit, out)]
    except (ValueError, TypeError, OSError, ImportError) as error:
        raise WrongInput(_in_options(str(error))) from error
    if json:
        print_json({**report.plain(), "saved": None if dry_run else str(out)})
    elif not quiet:
        typer.echo("\n".join(lines))


def _features(given: str) -> Any:
    """The column or columns of features, or the schema in a JSON file."""
    from headstart.cli.features import read_schema
    from headstart.cli.settings import names_of

    name = given.strip()
    if name.lower().endswith(".json"):
        return read_schema(Path(name))
    return names_of(name) if "," in name else name


def _of_items(arm: str, file: Path | None, features: str) -> Any:
    """A column of ids, and the features of the items in a file."""
    import pandas as pd

    from headstart.cli.settings import names_of
    from headstart.logs import ItemColumn

    if file is None:
        raise ValueError(f"--arm {arm} needs --items, a file with the items' features, got none")
    is_table = file.suffix == ".parquet"
    frame = pd.read_parquet(file) if is_table else pd.read_csv(file, dtype={"id": str})
    names = (
        [each for each in frame if each != "id"] if features == "features" else names_of(features)
    )
    absent = [each for each in ("id", *names) if each not in frame]
    if absent or not frame["id"].is_unique:
        raise ValueError(
            f"--items must have {absent[0]!r} as a column, got {list(frame)}"
            if absent
            else "--items must have every id once"
        )
    rows = frame[names].to_numpy(dtype=float)
    return ItemColumn(arm, dict(zip(frame["id"].astype(str), rows, strict=True)))


def _in_options(error: str) -> str:
    """An error in terms of the command's options."""
    for name in ("on_bad", "task_type"):
        error = re.sub(rf'{name}="(\w+)"', rf"--{name.replace('_', '-')} \1", error)
    return error


def _refusal(report: "LogReport", on_bad: str) -> list[str]:
    """What a run would say about a log with bad rows."""
    if on_bad == "drop" or not report.n_bad:
        return []
    return [
        f"A run would refuse this log for its {report.n_bad:,} bad rows; --on-bad drop leaves them "
        "out."
    ]


def _check(
    logs: list[str], columns: dict[str, Any], given: Any, grouped: bool, quiet: bool
) -> "LogReport":
    from headstart.cli.output import progress_bar
    from headstart.cli.settings import bandit_settings
    from headstart.live.settings import Settings
    from headstart.logs import Columns, check_log

    found = bandit_settings(*given).get("reward_range")
    settings = Settings.from_options(clock.time, reward_range=found)
    rules: dict[str, Any] = {"reward_range": settings.reward_range}
    with progress_bar(Console(stderr=True, quiet=quiet), "rows", "reading") as progress:
        rules |= {"grouped_by_task": grouped, "progress": progress}
        return check_log(logs, Columns(**columns), **rules)


def _learn(
    logs: list[str], arguments: dict[str, Any], given: Any, out: Path, quiet: bool
) -> "tuple[MetaBandit, LogReport]":
    from headstart import MetaBandit
    from headstart.cli.output import check_parents, progress_bar
    from headstart.cli.settings import bandit_settings
    from headstart.logs import ItemColumn, n_features

    if out.is_dir():
        raise ValueError(f"out must be a file, but {out} is a folder")
    check_parents(out)
    settings = bandit_settings(*given)
    features = arguments["features"]
    if isinstance(features, str | list | ItemColumn):
        bandit = MetaBandit(dimension=n_features(logs, features), **settings)
    else:
        bandit = MetaBandit(features=features, **settings)
    with progress_bar(Console(stderr=True, quiet=quiet), "rows", "reading") as progress:
        bandit.fit(logs, **arguments, progress=progress)
    bandit.save(out)
    assert bandit.log_report is not None
    return bandit, bandit.log_report


def _learned(bandit: "MetaBandit", out: Path) -> list[str]:
    prior = bandit.next_prior()
    return [
        f"{bandit.n_finished:,} tasks with {bandit.dimension} features. Saved: {out}",
        f"A new task starts with noise scale {float(prior.noise_scale):.3g}.",
    ]
