"""What the whole suite shares: the settings of hypothesis, and where the real data is."""

import os
from importlib import import_module
from pathlib import Path

import anyio
from hypothesis import HealthCheck, settings

# The same examples in every run, so that a failure can be met again; no limit on one example's
# time, since the first to call a kernel may have to compile it.
settings.register_profile(
    "headstart",
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("headstart")

# Beside the repository, unless the environment says where.
_BESIDE = Path(__file__).resolve().parents[2] / "shared" / "data"
if _BESIDE.is_dir():
    os.environ.setdefault("HEADSTART_DATA", str(_BESIDE))

# anyio imports its parts at their first use, which would be in the thread of a server. pytest
# parses what is imported, and CPython 3.11 sometimes fails where two threads parse at once.
import_module("anyio._backends._asyncio")
for _name in dir(anyio):
    getattr(anyio, _name)
