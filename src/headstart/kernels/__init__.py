"""The few compiled inner loops, over one flat leading axis.

Every array is C-contiguous with the replications on axis 0 (`running.py` flattens leading axes).
A replication's numbers depend on that replication alone, bit for bit, so a batch may be split in
any way. All kernels release the GIL, so that threads can work on separate chunks.
"""

from headstart.kernels.anchoring import anchor, factorise, settle
from headstart.kernels.mixing import blend, is_power_of_two, reconsider, startling, weigh
from headstart.kernels.noise import noise_after, noises_after, surprise, surprise_of
from headstart.kernels.rank_one import DRIFT_LIMIT, glance, observe, project, read, step, wear
from headstart.kernels.rounds import TIE_TOLERANCE, choose, pick, regrets, win_probabilities

__all__ = [
    "DRIFT_LIMIT",
    "TIE_TOLERANCE",
    "anchor",
    "blend",
    "choose",
    "factorise",
    "glance",
    "is_power_of_two",
    "noise_after",
    "noises_after",
    "observe",
    "pick",
    "project",
    "read",
    "reconsider",
    "regrets",
    "settle",
    "startling",
    "step",
    "surprise",
    "surprise_of",
    "wear",
    "weigh",
    "win_probabilities",
]
