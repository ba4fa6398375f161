"""The compiled inner loops, over one flat leading axis.

Every array is C-contiguous with the tasks on axis 0 (`core.running` flattens leading axes). A
task's numbers depend on that task alone, bit for bit, so a batch may be split in any way. All
kernels release the GIL, so that threads can work on separate chunks. From the library, this package
imports only array types: another backend could be a sibling package.
"""

from headstart.kernels.choice import (
    TIE_TOLERANCE,
    choose,
    pick,
    propensities,
    regrets,
    win_probabilities,
)
from headstart.kernels.factorisation import (
    add_observation,
    factorise,
    flush,
    refactorise_drifted,
    start,
)
from headstart.kernels.factors import (
    Expected,
    FactorModel,
    ThinTasks,
    climb,
    expect,
    new_direction,
    thin_rewards,
)
from headstart.kernels.learning import DRIFT_LIMIT, change_reward, learn, learn_choices
from headstart.kernels.noise import update_noises
from headstart.kernels.reading import (
    index,
    index_by_parts,
    index_by_parts_one,
    index_one,
    project,
    project_features,
    read,
    read_mean,
    read_mean_one,
    read_one,
)
from headstart.kernels.revision import (
    component_posterior,
    moment_match,
    restate_surprise,
    revise,
    revise_due,
    revision_due,
    revision_to_repeat,
)
from headstart.kernels.state import Buffer, Components, Reading, TaskState

__all__ = [
    "DRIFT_LIMIT",
    "TIE_TOLERANCE",
    "Buffer",
    "Components",
    "Expected",
    "FactorModel",
    "Reading",
    "TaskState",
    "ThinTasks",
    "add_observation",
    "change_reward",
    "choose",
    "climb",
    "component_posterior",
    "expect",
    "factorise",
    "flush",
    "index",
    "index_by_parts",
    "index_by_parts_one",
    "index_one",
    "learn",
    "learn_choices",
    "moment_match",
    "new_direction",
    "pick",
    "project",
    "project_features",
    "propensities",
    "read",
    "read_mean",
    "read_mean_one",
    "read_one",
    "refactorise_drifted",
    "regrets",
    "restate_surprise",
    "revise",
    "revise_due",
    "revision_due",
    "revision_to_repeat",
    "start",
    "thin_rewards",
    "update_noises",
    "win_probabilities",
]
