"""Linear bandits that start warm.

Everything here is imported when it is first used, so that `import headstart` costs nothing. The
names are in `__init__.pyi`, which type checkers read as well.
"""

import re
from importlib import import_module

__version__ = "0.1.0"

with open(f"{__file__}i", encoding="utf-8") as _stub:
    # The module of each name; of a module, the package that it is in.
    _HOME = {
        name: home
        for home, name in re.findall(r"^from ([\w.]+) import (\w+) as", _stub.read(), re.MULTILINE)
    }
__all__ = list(_HOME)

# Found as attributes like those of __all__, but not taken by `from headstart import *`.
_MODULES = (
    "datasets", "diagnosis", "features", "interfaces", "live", "logs", "plotting", "simulation",
    "studies", "trials",
)  # fmt: skip
# Where classes are that one may look for here.
_PACKAGES = ("policies", "priors", "environments", "learners", "studies")


def __getattr__(name: str) -> object:
    home = _HOME.get(name)
    if home == "headstart" or name in _MODULES:
        return import_module(f"headstart.{name}")
    if home is not None:
        return getattr(import_module(home), name)
    for package in _PACKAGES if name[:1].isupper() else ():
        if hasattr(import_module(f"headstart.{package}"), name):
            raise AttributeError(f"{name} is in a module: write headstart.{package}.{name}")
    raise AttributeError(f"module 'headstart' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES})
