"""The tables. Times are seconds since 1970; arrays are bytes of little-endian floats.

Everything that belongs to a bandit has its number. Sums that every request adds to (`minutes`,
`rounds`, `gains`, `metric_gains`, `item_days`) are kept per `process`, a small number that one
running process holds, so that processes never wait for each other's rows; a reader adds them up.
"""

from typing import Literal

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
    text,
)

metadata = MetaData()

# SQLite numbers rows by itself only if the key is an INTEGER.
_Number = BigInteger().with_variant(Integer, "sqlite")

# Names are compared by their bytes, so that names with one prefix are neighbours in an index.
_Name = Text().with_variant(Text(collation="C"), "postgresql")

# The status of a decision.
PENDING, PAID, EXPIRED = range(3)
DECISION_STATUS: tuple[Literal["pending", "paid", "expired"], ...] = ("pending", "paid", "expired")
# What a control task is served: see `BanditConfiguration.control`.
CONTROLS: tuple[Literal["cold", "own"], ...] = ("cold", "own")
SHADOW = len(CONTROLS)  # of tasks that were opened in shadow mode, and are not compared

bandits = Table(
    "bandits",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("configuration", Text, nullable=False),  # JSON of a BanditConfiguration
    Column("created", Double, nullable=False),
    Column("changed", Double, nullable=False),
    Column("catalogue_version", Integer, nullable=False, server_default="0"),
    Column("prior_version", Integer, nullable=False, server_default="0"),
    Column("paused", Double),  # since when a broken guardrail sends new tasks to the control
    Column("accepted", Text),  # a JSON list: guardrails that were broken when somebody resumed
    sqlite_autoincrement=True,  # the number of a deleted bandit is not used again
)

items = Table(
    "items",
    metadata,
    Column("bandit", Integer, primary_key=True),
    Column("item", Text, primary_key=True),
    Column("features", LargeBinary, nullable=False),  # (d,); (0,) where there are attributes
    Column("tags", Text, nullable=False),  # a JSON list
    Column("attributes", Text),  # a JSON object, where the bandit has a schema
    sqlite_with_rowid=False,
)

tasks = Table(
    "tasks",
    metadata,
    Column("id", _Number, primary_key=True),
    Column("bandit", Integer, nullable=False),
    Column("name", _Name, nullable=False),
    Column("control", Boolean, nullable=False),
    # What the control was served when it was opened, the place in CONTROLS; or SHADOW.
    Column("against", SmallInteger, nullable=False, server_default="0"),
    Column("opened", Double, nullable=False),
    Column("last_used", Double, nullable=False),  # opened, or when it last learned
    Column("n_rewards", BigInteger, nullable=False),  # that count, including defaults
    Column("reward_sum", Double, nullable=False),
    Column("early_rewards", Integer, nullable=False),  # among the first rounds, for the gain
    Column("early_sum", Double, nullable=False),
    Column("early_metrics", Text),  # JSON: of each metric its number and sum in the first rounds
    Column("share", Double),  # of the control when it was opened; NULL if there was no prior yet
    Column("version", BigInteger, nullable=False),  # raised with every change of the state
    Column("changed", SmallInteger, nullable=False),  # 1: the prior has not counted its state yet
    Column("counted_in", Integer, nullable=False),  # the prior that last counted it; 0 if none did
    Column("moves", SmallInteger, nullable=False),  # 1: it waits for a newer prior
    Column("about", LargeBinary),  # (p,)
    Column("state", LargeBinary, nullable=False),  # the row of live use, without the inverse
    UniqueConstraint("bandit", "name"),
    Index("tasks_last_used", "bandit", "last_used"),
    Index(
        "tasks_changed",
        "bandit",
        "counted_in",
        sqlite_where=text("changed = 1 OR moves = 1"),
        postgresql_where=text("changed = 1 OR moves = 1"),
    ),
    sqlite_autoincrement=True,  # the number of an erased task is not used again
)

# What the prior counts for a task: only a refresh reads and writes it. An erased task's row stays
# until the prior is computed without it.
contributions = Table(
    "contributions",
    metadata,
    Column("task", _Number, primary_key=True, autoincrement=False),
    Column("bandit", Integer, nullable=False),
    Column("content", LargeBinary, nullable=False),
    Column("erased", SmallInteger, nullable=False),
    Index("contributions_bandit", "bandit", "erased"),
)

decisions = Table(
    "decisions",
    metadata,
    Column("bandit", Integer, primary_key=True, autoincrement=False),
    Column("id", Text, primary_key=True),  # 32 hexadecimal digits, in the order of time
    Column("block", BigInteger, nullable=False),  # see store/blocks.py
    Column("task", _Number, nullable=False),
    Column("slate", Text),  # of the best n with n > 1: the id of the first
    Column("rank", SmallInteger, nullable=False),
    Column("observed", SmallInteger, nullable=False),
    Column("arm", Text, nullable=False),
    Column("features", LargeBinary, nullable=False),  # (d,), float64
    Column("parts", LargeBinary),  # (2, d), float32: from prior, from rewards
    Column("propensity", Double),
    Column("mean", Double),
    Column("half", Double),  # half of the 95 % interval
    Column("effect", Double),  # of the item itself; NULL for arms that are not in the catalogue
    Column("prior_version", Integer, nullable=False),
    Column("time", Double, nullable=False),
    Column("status", SmallInteger, nullable=False),
    Column("value", Double),  # what the task counts for it: its default while it is pending
    Column("weight", Double),
    Column("paid_time", Double),
    Column("round", BigInteger),  # the number of this reward among those of the task
    Column("catalogue", BigInteger),  # the digest of the arms' catalogue, if any
    Column("offered", LargeBinary),  # a bit for each item, 1 if it could be chosen; NULL for all
    # In shadow mode: what the service would have chosen, and its chance of the arm.
    Column("service_arm", Text),
    Column("service_propensity", Double),
    Column("chance", Double),
    Index("decisions_task", "block", "task"),
    Index(
        "decisions_pending",
        "bandit",
        "time",
        sqlite_where=text("status = 0"),
        postgresql_where=text("status = 0"),
    ),
)

# Rewards that came in parts, or with metrics; a reward that came whole is in its decision.
reward_parts = Table(
    "reward_parts",
    metadata,
    Column("bandit", Integer, primary_key=True, autoincrement=False),
    Column("decision", Text, primary_key=True),
    Column("key", Text, primary_key=True),  # "" for the reward without a key
    Column("number", Integer, nullable=False),  # in the order in which the parts first came
    Column("value", Double, nullable=False),
    Column("time", Double, nullable=False),  # when it happened
    Column("metrics", Text, nullable=False),  # a JSON object
    sqlite_with_rowid=False,
)

idempotency = Table(
    "idempotency",
    metadata,
    Column("bandit", Integer, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("digest", LargeBinary, nullable=False),  # of the request
    Column("answer", LargeBinary, nullable=False),  # JSON
    Column("task", _Number, nullable=False),
    Column("time", Double, nullable=False),
    Index("idempotency_task", "task"),
    Index("idempotency_time", "time"),
    sqlite_with_rowid=False,
)

priors = Table(
    "priors",
    metadata,
    Column("bandit", Integer, primary_key=True),
    Column("version", Integer, primary_key=True),
    Column("time", Double, nullable=False),
    Column("source", Text, nullable=False),
    Column("memory", LargeBinary),  # of the store's tasks; NULL for old versions
    Column("fits", Text, nullable=False),  # a JSON list: the fits whose logs count as well
    Column("n_tasks", Integer, nullable=False),
    Column("effective_tasks", Double, nullable=False),
    Column("noise_scale", Double, nullable=False),
    Column("mean", LargeBinary, nullable=False),  # (d,)
    Column("spread", LargeBinary, nullable=False),  # (d,)
)

# Memories of logs. A log counts while it is promoted.
fits = Table(
    "fits",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("bandit", Integer, nullable=False),
    Column("job", Text, nullable=False),
    Column("time", Double, nullable=False),
    Column("status", Text, nullable=False),  # shadow, promoted, withdrawn
    Column("memory", LargeBinary, nullable=False),
    Column("n_tasks", Integer, nullable=False),
    Column("noise_scale", Double, nullable=False),
    Column("mean", LargeBinary, nullable=False),  # of the prior that promoting it would give
    Column("spread", LargeBinary, nullable=False),
    Column("report", Text, nullable=False),  # JSON
)

minutes = Table(
    "minutes",
    metadata,
    Column("bandit", Integer, primary_key=True),
    Column("minute", Integer, primary_key=True),  # since 1970
    Column("process", SmallInteger, primary_key=True),
    Column("control", SmallInteger, primary_key=True),
    Column("opened", BigInteger, nullable=False),  # tasks
    Column("decisions", BigInteger, nullable=False),
    Column("rewards", BigInteger, nullable=False),
    Column("duplicates", BigInteger, nullable=False),
    Column("conflicts", BigInteger, nullable=False),
    Column("unknown", BigInteger, nullable=False),
    Column("expired", BigInteger, nullable=False),  # decisions that expired
    Column("late", BigInteger, nullable=False),  # rewards of expired decisions
    Column("out_of_range", BigInteger, nullable=False),
    Column("shadowed", BigInteger, nullable=False),  # decisions in shadow mode
    Column("agreed", BigInteger, nullable=False),  # of them, those the service would have made too
    sqlite_with_rowid=False,
)

# By the number of the reward in its task, from 1 to ROUNDS_MEASURED. Here and in `gains`, control
# is the group of a task: twice its place in CONTROLS, and one more if it is a control task.
rounds = Table(
    "rounds",
    metadata,
    Column("bandit", Integer, primary_key=True),
    Column("control", SmallInteger, primary_key=True),
    Column("round", SmallInteger, primary_key=True),
    Column("process", SmallInteger, primary_key=True),
    Column("n", BigInteger, nullable=False),
    Column("sum", Double, nullable=False),
    Column("squares", Double, nullable=False),
)
ROUNDS_MEASURED = 50

# Of the mean reward of each task over its first EARLY_ROUNDS rewards: number, sum and squares; of
# the tasks that could have been warm or control, with the chance of what they are. Changes belong
# to the day on which they came, so the sum over days until one is what was known at its end. Other
# tasks are counted by why they are left out, a place in LEFT_OUT from the end.
gains = Table(
    "gains",
    metadata,
    Column("bandit", Integer, primary_key=True),
    Column("control", SmallInteger, primary_key=True),
    Column("day", Integer, primary_key=True),  # since 1970
    Column("process", SmallInteger, primary_key=True),
    Column("tasks", BigInteger, nullable=False),
    Column("sum", Double, nullable=False),
    Column("squares", Double, nullable=False),
    Column("log_chance", Double, nullable=False),
)
EARLY_ROUNDS = 20
LEFT_OUT = ("shadow", "no_control", "no_prior")

# The same for each metric: one value per task, its mean over the first rounds that have it.
metric_gains = Table(
    "metric_gains",
    metadata,
    Column("bandit", Integer, primary_key=True),
    Column("metric", Text, primary_key=True),
    Column("control", SmallInteger, primary_key=True),
    Column("process", SmallInteger, primary_key=True),
    Column("tasks", BigInteger, nullable=False),
    Column("sum", Double, nullable=False),
    Column("squares", Double, nullable=False),
)

# Decisions by item and by their day, and the rewards that count for them, including defaults;
# choices made elsewhere are left out.
item_days = Table(
    "item_days",
    metadata,
    Column("bandit", Integer, primary_key=True),
    Column("day", Integer, primary_key=True),  # since 1970
    Column("item", Text, primary_key=True),  # of the catalogue, or a given arm
    Column("process", SmallInteger, primary_key=True),
    Column("shown", BigInteger, nullable=False),
    Column("rewards", BigInteger, nullable=False),
    Column("sum", Double, nullable=False),
    Column("squares", Double, nullable=False),
    sqlite_with_rowid=False,
)

jobs = Table(
    "jobs",
    metadata,
    Column("id", Text, primary_key=True),
    Column("bandit", Integer, nullable=False),
    Column("kind", Text, nullable=False),  # fit, evaluate
    Column("status", Text, nullable=False),  # waiting, running, done, failed, cancelled
    Column("created", Double, nullable=False),
    Column("started", Double),
    Column("ended", Double),
    Column("heartbeat", Double),  # of the process that runs it
    Column("progress", Double, nullable=False),  # 0 to 1
    Column("step", Text, nullable=False),  # what it is doing, in words
    Column("request", Text, nullable=False),  # JSON
    Column("report", Text),  # JSON
    Column("error", Text),
)

keys = Table(
    "keys",
    metadata,
    Column("id", Text, primary_key=True),  # the public part of a key
    Column("name", Text, nullable=False),
    Column("role", Text, nullable=False),  # decide, read, admin
    Column("hash", LargeBinary, nullable=False),
    Column("created", Double, nullable=False),
    Column("revoked", Double),
)

# One row: the version of these tables.
schema_version = Table(
    "schema_version",
    metadata,
    Column("version", Integer, primary_key=True),
    Column("secret", LargeBinary, nullable=False),  # signs the cookies of the dashboard
)
VERSION = 1
