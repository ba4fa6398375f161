"""Messages: what the service accepts and answers, as JSON.

They import nothing of headstart: the client's build takes this file as it is.
"""

import re
from datetime import date
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

import msgspec
from msgspec import Meta

T = TypeVar("T")

# Limits that hold whatever the configuration says.
MOST_DIMENSIONS = 2_000
MOST_ARMS = 10_000
MOST_ROWS = 10_000  # of one batch; also the arms that it chooses
LONGEST_NAME = 200
MOST_PARTS = 100  # of one decision's reward
MOST_GUARDRAILS = 20
LEAST_PROPENSITY = 1e-6  # of the caller's own choice: rewards are divided by it

Name = Annotated[str, Meta(min_length=1, max_length=LONGEST_NAME)]
# A task may be named by an integer too, which is taken as its digits.
TaskName = Name | Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
Features = Annotated[list[float], Meta(min_length=1, max_length=MOST_DIMENSIONS)]
# Characters that break lines, and names that mean steps in addresses.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_STEPS = (".", "..")
Names = Annotated[list[Name], Meta(max_length=MOST_ARMS)]
# Attributes of an item, of the context or of a task, by name; nested objects are flattened.
Attributes = Annotated[dict[str, object], Meta(max_length=MOST_DIMENSIONS)]
GivenArms = Annotated[dict[Name, Features | Attributes], Meta(max_length=MOST_ARMS)]
# What is known of a task beforehand; larger numbers would leave no digits for others.
# What is known of a task, in numbers.
Known = Annotated[list[Annotated[float, Meta(ge=-1e9, le=1e9)]], Meta(max_length=MOST_DIMENSIONS)]
# How many rewards one reward counts as.
Weight = Annotated[float, Meta(gt=0.0, le=1e6)]
Time = Annotated[float, Meta(ge=0.0, le=1e11)]  # seconds since 1970
Role = Literal["decide", "read", "admin"]
# What happened to a reward: a `headstart.live.Outcome`.
Outcome = Annotated[
    str,
    Meta(
        extra_json_schema={
            "enum": ["paid", "duplicate", "conflict", "unknown", "expired", "out_of_range"]
        }
    ),
]
# How the parts of a decision's reward combine; first and last by the time they happened.
Combination = Literal["sum", "last", "first", "max"]
# Numbers that come with a reward and are not learned, by the names of guardrails.
Metrics = Annotated[
    dict[Name, Annotated[float, Meta(ge=-1e9, le=1e9)]], Meta(max_length=MOST_GUARDRAILS)
]


class Message(msgspec.Struct, kw_only=True, forbid_unknown_fields=True, gc=False):
    """A message; an unknown field is an error, so that no misspelt field is lost.

    Messages are many and hold no cycles, so the garbage collector skips them.
    """


Control = Literal["cold", "own"]


class Guardrail(Message):
    """A metric of rewards in which warm tasks must not be worse than the control by the margin.

    pause: whether new tasks go to the control once it is broken, until someone resumes.
    """

    name: Name
    worse: Literal["higher", "lower"]
    margin: Annotated[float, Meta(ge=0.0, le=1e9)] = 0.0
    pause: bool = False


class BanditConfiguration(Message):
    """How a bandit is set up: `PUT /bandits/{b}`.

    Give the dimension d, the names of the d features, or `features`: a schema of attributes, as
    `hs.Features.plain` writes it; items, contexts and tasks then have attributes. Policy and prior
    are specs, as in a study: {"class": "BayesUCB", "z": "slow"}. The other fields are the fields
    of `headstart.live.Settings`. A schema scales its own numbers, so scales are then not learned.
    """

    dimension: Annotated[int, Meta(ge=1, le=MOST_DIMENSIONS)] | None = None
    feature_names: list[Name] | None = None
    features: dict[str, object] | None = None
    scales: Literal["learn"] | None = "learn"
    policy: dict[str, object] | None = None
    prior: dict[str, object] | None = None
    about_names: list[Name] = []
    reward_range: tuple[float, float] | None = None
    deadline_seconds: float | None = None
    default_reward: float | None = None
    exploration: Annotated[float, Meta(ge=0.0, le=1.0)] = 0.0
    half_life_seconds: float | None = None
    discount: float = 1.0
    item_effects: bool = True
    parts: Combination = "sum"
    control_share: Annotated[float, Meta(ge=0.0, le=0.5)] = 0.0
    # What control tasks are served: a cold task's choice, or the caller's own.
    control: Control = "cold"
    shadow: bool = False  # whether the caller's own choice is served, and learned from
    guardrails: Annotated[list[Guardrail], Meta(max_length=MOST_GUARDRAILS)] = []
    retention_seconds: float | None = None  # how long decisions are kept; None: for ever


class BanditView(Message):
    """A bandit: its configuration, and how much it has of what."""

    name: str
    configuration: BanditConfiguration
    dimension: int
    feature_names: list[str]
    created: float  # seconds since 1970, as all times
    changed: float
    items: int
    tasks: int
    decisions: int
    rewards: int
    prior_version: int
    paused: float | None  # since when a broken guardrail sends new tasks to the control


class Item(Message):
    """An arm of the catalogue, with features, or with attributes if the bandit has a schema."""

    id: Name
    features: Features | None = None
    attributes: Attributes | None = None
    tags: list[Name] = []


class ItemChange(Message):
    """New features, attributes or tags for an arm of the catalogue; None leaves them unchanged."""

    id: Name
    features: Features | None = None
    attributes: Attributes | None = None
    tags: list[Name] | None = None


class DecisionRequest(Message):
    """A task wants an arm.

    arms: features or attributes by id, or ids of the catalogue; if None, the whole catalogue, or
    the items with the tag. exclude: ids that must not be chosen. n: how many arms, best first. The
    same idempotency_key gets the same answer. about: what is known of the task, in numbers; if the
    bandit has a schema, its attributes. The first values count, for this and all later decisions.
    If the bandit has a schema, `context` has the attributes of this decision.

    own: the arm that the caller would serve without the service, and own_propensity: its chance. It
    is served in shadow mode, and to control tasks if `control` is "own".
    """

    task: TaskName
    arms: GivenArms | Names | None = None
    tag: Name | None = None
    exclude: Names = []
    context: Attributes | None = None
    about: Attributes | Known | None = None
    n: Annotated[int, Meta(ge=1, le=1_000)] = 1
    own: Name | None = None
    own_propensity: Annotated[float, Meta(ge=LEAST_PROPENSITY, le=1.0)] | None = None
    idempotency_key: Name | None = None


class ServiceChoice(Message):
    """What the service would have chosen in shadow mode, and with what chance."""

    arm: str
    propensity: float


class ChosenArm(Message):
    """One chosen arm. Report the reward by its id, once."""

    id: str
    arm: str
    propensity: float | None  # None if it is not known
    mean: float
    low: float  # the ends of the 95 % interval of the arm's mean reward
    high: float


class DecisionAnswer(Message):
    """The chosen arms for a task; id is the first one's."""

    id: str
    task: str
    arms: list[ChosenArm]
    prior_version: int  # the latest known prior; 0 before any
    control: bool  # whether the task is one of the control, to measure the gain
    shadow: ServiceChoice | None = None  # in shadow mode


class RewardRequest(Message):
    """The reward of a decision. time: when it happened (default: now); deadlines go by it.

    A reward replaces the default that a decision counts as until its deadline. With a key it is one
    part of the decision's reward; a reward without a key is a part too. Each part counts once,
    unless `correction` is set, which replaces the earlier value. The weight belongs to the whole
    reward, and comes with the part without a key; left out, it is 1, or what it was before a
    correction. metrics: other numbers, for guardrails.
    """

    decision: Annotated[str, Meta(min_length=1, max_length=64)]
    value: float
    weight: Weight | None = None
    time: Time | None = None
    key: Name | None = None
    correction: bool = False
    metrics: Metrics = {}


class RewardAnswer(Message):
    """What happened to a reward."""

    decision: str
    outcome: Outcome


class ObservationRequest(Message):
    """The reward of a choice that was made elsewhere; the arm is in the catalogue, or given.

    If the bandit has a schema, a given arm is an `item` with attributes; `context` and `about` are
    as in a decision.
    """

    task: TaskName
    value: float
    features: Features | None = None
    item: Attributes | None = None
    arm: Name | None = None
    weight: Weight = 1.0
    context: Attributes | None = None
    about: Attributes | Known | None = None
    time: Time | None = None
    idempotency_key: Name | None = None


class ObservationAnswer(Message):
    """What happened to an observation; its id reads it back."""

    id: str
    outcome: Outcome


class Contribution(Message):
    """What one feature contributed to the mean of an arm."""

    feature: str
    value: float
    from_prior: float
    from_rewards: float


class RewardPart(Message):
    """One part of a decision's reward."""

    key: str | None
    value: float
    time: float  # when it happened
    metrics: dict[str, float]


class DecisionRecord(Message):
    """A decision, its reasons, and what happened to its reward."""

    id: str
    bandit: str
    task: str
    arm: str
    rank: int  # 0 for the best; of the best n, their order
    observed: bool  # whether the choice was made elsewhere
    time: float
    propensity: float | None
    mean: float
    low: float
    high: float
    prior_version: int
    control: bool
    shadow: ServiceChoice | None
    contributions: list[Contribution]
    item_effect: float | None  # of the item itself, part of the mean; None if not in the catalogue
    status: Literal["pending", "paid", "expired"]
    value: float | None
    weight: float | None
    paid_time: float | None
    round: int | None  # the number of this reward among those of the task; None if none counts
    parts: list[RewardPart]  # of a reward that came in parts or with metrics


class TaskRecord(Message):
    """What is known of a task."""

    task: str
    control: bool
    start: Literal["warm", "control", "no prior"]  # what it started from
    opened: float
    last_used: float
    n_rewards: int  # that count; a pending decision counts as its default, if there is one
    reward_sum: float
    feature_names: list[str]
    parameter: list[float]  # (d,), ŵ
    prior_mean: list[float]  # (d,), h
    spread: list[float]  # (d,), the standard deviation of each entry of w
    noise_scale: float
    about: list[float] | None


class PriorNumbers(Message):
    """A prior in numbers: mean (d,), spread (d,), noise, and the tasks behind it."""

    mean: list[float]
    spread: list[float]
    noise_scale: float
    n_tasks: int
    effective_tasks: float


class PriorVersion(PriorNumbers):
    """One version of the prior."""

    version: int
    time: float
    source: str  # refresh, fit, withdrawal, erasure


class PriorView(PriorVersion):
    """The current prior and its history, latest first."""

    feature_names: list[str]
    history: list[PriorVersion]


class Comparison(Message):
    """Warm tasks against the control: the number and mean of each, and the difference.

    The interval of the difference holds with 95 % at all looks together. None: not known yet.
    """

    warm_tasks: int
    control_tasks: int
    warm_mean: float | None
    control_mean: float | None
    difference: float | None
    low: float | None
    high: float | None


class GuardrailView(Comparison):
    """How warm tasks compare with the control in one metric.

    Each task counts with its mean over its first rounds, where rewards have the metric. "broken":
    all of the interval is worse than the margin; "holds": none of it is.
    """

    name: str
    worse: Literal["higher", "lower"]
    margin: float
    status: Literal["broken", "holds", "unclear"]


class LeftOut(Message):
    """How many tasks with rewards the gain leaves out, by how they were opened."""

    no_prior: int  # before there was a prior
    no_control: int  # while control_share was 0
    shadow: int  # in shadow mode
    other_control: int  # against another `control` than now


class GainDay(Message):
    """The gain as it was known at the end of a day; its interval holds at every look."""

    day: date
    difference: float
    low: float
    high: float


class Gain(Comparison):
    """How much more warm tasks earn per round than the control, over their first rounds.

    It compares tasks that were opened when there was a prior and a control.
    """

    rounds: int  # of a task, at most
    control: Control  # what control tasks are served
    control_share: float | None  # of the compared tasks
    ratio_p: float  # its p-value against the requested share, at all looks; wrong below 0.001
    left_out: LeftOut
    # If the difference stays as it is: how many more tasks, and days as busy as those so far, until
    # the interval leaves zero out. None if it does, or is not known.
    tasks_to_go: int | None
    days_to_go: float | None
    days: list[GainDay]
    guardrails: list[GuardrailView]


class ShadowView(Message):
    """Shadow mode: how often the service would have chosen the same."""

    on: bool
    decisions: int
    agreed: int  # decisions for which the service would have chosen the same arm


class ItemCount(Message):
    """How many items the catalogue has now."""

    items: int


class ItemPage(Message):
    """Items in the order of their ids; `next` is the `after` of the next page, None at the end."""

    items: list[Item]
    next: str | None


class ItemStatistics(Message):
    """An item in numbers: how often the service chose it, and what those decisions earned.

    A decision's rewards belong to the day of the decision. The interval of the mean holds with 95 %
    at one look. None: not known yet.
    """

    item: str
    shown: int
    share: float  # of all decisions
    rewards: int  # that count; a pending decision counts as its default, if there is one
    reward_sum: float
    mean: float | None  # reward per decision that counts one
    low: float | None
    high: float | None
    effect: float | None  # what the item earns beyond what its features explain


class ItemReport(Message):
    """Items in numbers from one day to another, the most shown first; days are UTC."""

    since: date
    until: date
    decisions: int
    items: list[ItemStatistics]


class Erased(Message):
    """The version of the prior that no longer counts the task."""

    prior_version: int


# Requests of jobs, their state and their reports.
JobKind = Literal["fit", "evaluate"]
JobStatus = Literal["waiting", "running", "done", "failed", "cancelled"]
FitStatus = Literal["shadow", "promoted", "withdrawn"]

# A file, a folder or a pattern below the service's data folder.
FileName = Annotated[str, Meta(min_length=1, max_length=1_000)]
FileNames = Annotated[list[FileName], Meta(max_length=1_000)]


class LogColumns(Message):
    """Which columns of a log hold what; the fields of `headstart.logs.Columns`.

    arm: names an item of the catalogue, which has the features.
    """

    task: Name = "task"
    arm: Name | None = None
    features: Name | Annotated[list[Name], Meta(min_length=1)] = "features"
    reward: Name = "reward"
    weight: Name | None = None
    id: Name | None = None
    time: Name | None = None
    about: list[Name] = msgspec.field(default_factory=list)
    task_type: Literal["str", "int"] | None = None


class FitRequest(Message):
    """Learn from a log: `POST /bandits/{b}/fit`.

    files: Parquet or CSV files of the data folder; none for an uploaded log. A dry run, the
    default, reads and reports; otherwise the log becomes a shadow fit, which counts once promoted.
    on_bad: refuse a log with bad rows, or drop them.
    """

    files: FileNames = msgspec.field(default_factory=list)
    columns: LogColumns = msgspec.field(default_factory=LogColumns)
    on_bad: Literal["raise", "drop"] = "raise"
    grouped_by_task: bool = False
    dry_run: bool = True


class DecisionLogColumns(Message):
    """Which columns of a log of decisions hold what; `headstart.logs.DecisionColumns`."""

    task: Name = "task"
    reward: Name = "reward"
    propensity: Name = "propensity"
    arm: Name | None = None
    arms: Name = "arms"
    choice: Name = "choice"
    propensities: Name | None = None
    time: Name | None = None


class EvaluateRequest(Message):
    """Estimate a bandit's mean reward on a log of decisions: `POST /bandits/{b}/evaluate`.

    The bandit starts cold, without any task, because the store's prior may know the log's tasks. It
    learns from the log. Its policy and prior come from the configuration unless they are given
    here.
    """

    files: FileNames = msgspec.field(default_factory=list)
    columns: DecisionLogColumns = msgspec.field(default_factory=DecisionLogColumns)
    policy: dict[str, object] | None = None
    prior: dict[str, object] | None = None
    exploration: Annotated[float, Meta(ge=0.0, le=1.0)] | None = None
    seed: Annotated[int, Meta(ge=0, le=2**63 - 1)] = 0


class RowExample(Message):
    """A row by its number in its file, counted from 0, and the value."""

    file: str | None
    row: int
    value: object


class Rows(Message):
    """How many rows meet a condition, and the first few of them."""

    what: str
    count: int
    examples: list[RowExample]


class SetAside(Message):
    """How many tasks of a log do not count, why, and the names of the first few."""

    what: str
    count: int
    examples: list[str | int]


class ColumnScale(Message):
    """The numbers of a column over the rows that count; None if there are none."""

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
    identical: Rows | None  # rows that equal an earlier one, and count; None: not checked
    features: list[ColumnScale]
    reward: ColumnScale
    far_apart: list[str]  # features whose size is far from the others'
    set_aside: SetAside | None = None  # None: a dry run, which compares no tasks
    encoded: bool = False  # whether the features are columns of a schema


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
    """An estimate and its 95 % interval; None if it is not known."""

    mean: float | None
    low: float | None
    high: float | None


class EvaluateReport(Message, tag_field="kind", tag="evaluate"):
    """Estimates of the mean reward per round; `headstart.OffPolicy` explains them.

    start: "cold", because the bandit knew no task before the log.
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
    """The state of a job.

    step: what it does now, in words. error: why it failed, in one sentence.
    """

    id: str
    bandit: str
    kind: JobKind
    status: JobStatus
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

    mean, spread and noise_scale belong to the prior that promoting it would have given when it was
    made; n_tasks are the log's tasks that count.
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
    """The result of promoting or withdrawing a fit."""

    fit: FitView
    prior_version: int


def read(content: str | bytes, kind: type[T]) -> T:
    """A message that another version of headstart may have written; unknown fields are ignored."""
    try:
        return msgspec.json.decode(content, type=kind)
    except msgspec.ValidationError:
        return msgspec.convert(_without_new_fields(msgspec.json.decode(content), kind), kind)


def _without_new_fields(value: Any, kind: Any) -> Any:
    if _is_struct(kind):
        fields = {field.encode_name: field.type for field in msgspec.structs.fields(kind)}
        if isinstance(value, dict):
            return {
                name: _without_new_fields(value[name], fields[name])
                for name in value
                if name in fields
            }
    elif isinstance(value, list) and get_origin(kind) is list:
        return [_without_new_fields(row, get_args(kind)[0]) for row in value]
    elif get_origin(kind) in (Union, UnionType):
        structs = [member for member in get_args(kind) if _is_struct(member)]
        return _without_new_fields(value, structs[0]) if len(structs) == 1 else value
    return value


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


class Problem(Message):
    """An error in the form of RFC 9457: `detail` is one clear sentence."""

    title: str
    status: int
    detail: str
    type: str = "about:blank"


class ServiceError(Exception):
    """A request that is refused, or that cannot be answered now, with its HTTP status.

    >>> error = ServiceError(404, "Not found", "there is no bandit 'shop'")
    >>> str(error), error.problem.status
    ("there is no bandit 'shop'", 404)
    """

    def __init__(self, status: int, title: str, detail: str) -> None:
        super().__init__(detail)
        self.problem = Problem(title=title, status=status, detail=detail)


def invalid(detail: str) -> ServiceError:
    """The error for a request that is understood, but wrong."""
    return ServiceError(422, "Invalid request", detail)


def check_name(what: str, name: str) -> None:
    """Refuse a name that an address or a log line cannot hold."""
    if name in _STEPS or _CONTROL.search(name):
        raise invalid(
            f"{what} must be neither '.' nor '..' and have no control characters, got {name!r}"
        )


def check_text(what: str, text: str) -> None:
    """Refuse a name that breaks lines."""
    if _CONTROL.search(text):
        raise invalid(f"{what} must have no control characters, got {text!r}")


def not_found(detail: str) -> ServiceError:
    """There is no such thing."""
    return ServiceError(404, "Not found", detail)


def conflict(detail: str) -> ServiceError:
    """The request contradicts what is there."""
    return ServiceError(409, "Conflict", detail)


def unavailable(detail: str) -> ServiceError:
    """The store cannot be reached or written now; the request may be sent again."""
    return ServiceError(503, "Service unavailable", detail)
