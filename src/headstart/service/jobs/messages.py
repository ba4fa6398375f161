"""Messages of jobs: what is asked of them, how they stand, and what they report."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from headstart.service.messages import LONGEST_NAME, Message

Kind = Literal["fit", "evaluate"]
Status = Literal["waiting", "running", "done", "failed", "cancelled"]
FitStatus = Literal["shadow", "promoted", "withdrawn"]

# A file, a folder or a pattern below the service's data folder.
FileName = Annotated[str, Meta(min_length=1, max_length=1_000)]
FileNames = Annotated[list[FileName], Meta(max_length=1_000)]
Column = Annotated[str, Meta(min_length=1, max_length=LONGEST_NAME)]


class LogColumns(Message):
    """Which columns of a log hold what; the fields of `headstart.logs.Columns`."""

    task: Column = "task"
    features: Column | Annotated[list[Column], Meta(min_length=1)] = "features"
    reward: Column = "reward"
    weight: Column | None = None
    id: Column | None = None
    time: Column | None = None
    side: list[Column] = msgspec.field(default_factory=list)
    task_type: Literal["str", "int"] | None = None


class FitRequest(Message):
    """Learn from a log: `POST /bandits/{b}/fit`.

    files: Parquet or CSV files of the data folder, none for a log that is uploaded. A dry run, the
    default, reads and reports; else the log becomes a shadow fit, which counts once promoted.
    on_bad: refuse a log with bad rows, or drop them.
    """

    files: FileNames = msgspec.field(default_factory=list)
    columns: LogColumns = msgspec.field(default_factory=LogColumns)
    on_bad: Literal["raise", "drop"] = "raise"
    grouped_by_task: bool = False
    dry_run: bool = True


class DecisionLogColumns(Message):
    """Which columns of a log of decisions hold what; `headstart.logs.DecisionColumns`."""

    task: Column = "task"
    reward: Column = "reward"
    propensity: Column = "propensity"
    arm: Column | None = None
    arms: Column = "arms"
    choice: Column = "choice"
    propensities: Column | None = None
    time: Column | None = None


class EvaluateRequest(Message):
    """Estimate a bandit's mean reward on a log of decisions: `POST /bandits/{b}/evaluate`.

    The bandit starts cold, without any task: the store's prior is not used, which may know the
    log's tasks. It learns from the log. Its policy and prior are those of the configuration where
    none are given here.
    """

    files: FileNames = msgspec.field(default_factory=list)
    columns: DecisionLogColumns = msgspec.field(default_factory=DecisionLogColumns)
    policy: dict[str, object] | None = None
    prior: dict[str, object] | None = None
    exploration: Annotated[float, Meta(ge=0.0, le=1.0)] | None = None
    seed: Annotated[int, Meta(ge=0, le=2**63 - 1)] = 0


class RowExample(Message):
    """A row by its number in its file, counted from 0, and the value found."""

    file: str | None
    row: int
    value: object


class Rows(Message):
    """How many rows something is true of, and the first few of them."""

    what: str
    count: int
    examples: list[RowExample]


class SetAside(Message):
    """How many tasks of a log do not count, why, and the names of the first few."""

    what: str
    count: int
    examples: list[str | int]


class ColumnScale(Message):
    """The numbers of a column over the rows that count; None where there are none."""

    name: str
    least: float | None
    largest: float | None
    mean: float | None
    root_mean_square: float | None
    missing: int


class LogSummary(Message):
    """What was read; the fields of `headstart.logs.LogReport`."""

    rows: int
    tasks: int
    pieces: int
    n_bad: int
    n_used: int
    bad: list[Rows]
    duplicates: Rows | None
    identical: Rows | None  # rows that equal an earlier one, and count; None: not looked for
    features: list[ColumnScale]
    reward: ColumnScale
    far_apart: list[str]  # features of a very different size than the others
    set_aside: SetAside | None = None  # None: a dry run, in which no task is compared


class PriorNumbers(Message):
    """A prior in numbers: mean (d,), spread (d,), noise, and the tasks behind it."""

    mean: list[float]
    spread: list[float]
    noise_scale: float
    n_tasks: int
    effective_tasks: float


class FitReport(Message, tag_field="kind", tag="fit"):
    """What a fit read, and the prior before it and with it; a dry run has no priors."""

    dry_run: bool
    log: LogSummary
    feature_names: list[str]
    before: PriorNumbers | None = None
    after: PriorNumbers | None = None
    # (d,), how far each mean moves, in units of the spread before.
    shift: list[float] | None = None
    digest: str | None = None  # of the content of the files
    fit: int | None = None  # the number of the shadow fit


class Estimate(Message):
    """An estimate and its 95 % interval; None where it is not known."""

    mean: float | None
    low: float | None
    high: float | None


class EvaluateReport(Message, tag_field="kind", tag="evaluate"):
    """Estimates of the mean reward per round; `headstart.OffPolicy` explains them.

    start: "cold", since the bandit knew no task before the log.
    """

    rounds: int
    tasks: int
    accepted: int
    logged: Estimate  # the mean reward of the log itself
    replay: Estimate
    inverse_propensity: Estimate
    self_normalised: Estimate
    doubly_robust: Estimate
    mean_weight: Estimate
    effective_sample_size: float
    overlap: float | None
    policy: dict[str, object]
    prior: dict[str, object]
    start: Literal["cold"] = "cold"


Report = FitReport | EvaluateReport


class JobView(Message):
    """A job as it stands.

    step: what it does now, in words. error: why it failed, in one sentence.
    """

    id: str
    bandit: str
    kind: Kind
    status: Status
    progress: float  # 0 to 1
    step: str
    created: float
    started: float | None
    ended: float | None
    files: list[str]
    report: Report | None
    error: str | None


class FitView(Message):
    """A log that was learned: it counts for the prior while its status is promoted.

    mean, spread and noise_scale are those of the prior that promoting it would have given when it
    was made; n_tasks those of the log that count.
    """

    id: int
    job: str
    status: FitStatus
    time: float
    n_tasks: int
    noise_scale: float
    mean: list[float]
    spread: list[float]
    feature_names: list[str]
    report: FitReport


class FitChange(Message):
    """What promoting or withdrawing a fit gave."""

    fit: FitView
    prior_version: int
