"""What `import headstart` brings along, and what it offers."""

import subprocess
import sys
from typing import Any

import pytest

import headstart as hs

HEAVY = ("numba", "xarray", "matplotlib", "pandas", "scipy", "numpy", "typer", "rich")
# What the service does without until it is needed: each adds up to half a second to a restart.
LATE = (
    *("matplotlib", "pandas", "xarray", "sklearn", "dask", "pyarrow", "headstart.service.demo"),
    *("scipy.cluster", "scipy.stats"),
)


def _loaded_after(statement: str, modules: tuple[str, ...] = HEAVY) -> set[str]:
    """Which of some modules a fresh interpreter has loaded after a statement."""
    script = f"import sys; {statement}; print(*(m for m in {modules!r} if m in sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    return set(done.stdout.split())


def test_import_is_light() -> None:
    assert _loaded_after("import headstart") == set()
    # The check sees what is there.
    assert "numba" in _loaded_after("import headstart; headstart.Task")


def test_help_does_not_import_numba() -> None:
    assert _loaded_after("import headstart.cli") <= {"typer", "rich"}


def test_the_service_starts_without_what_it_may_never_need() -> None:
    start = "import headstart.service.main; from headstart import warm_up; warm_up.stored()"
    assert _loaded_after(start, LATE) == set()


def test_every_public_name_exists() -> None:
    for name in hs.__all__:
        assert getattr(hs, name) is not None
        assert name in dir(hs)
    for module in ("live", "plotting", "studies"):  # not taken by `import *`
        assert getattr(hs, module).__name__ == f"headstart.{module}"
    for package in (hs.policies, hs.priors, hs.environments):
        for name in package.__all__:
            assert isinstance(getattr(package, name), type)


def test_a_class_of_a_module_is_found_by_its_name() -> None:
    wrong: Any = hs  # type checkers see what there is
    with pytest.raises(AttributeError, match=r"write headstart\.policies\.OFUL"):
        wrong.OFUL  # noqa: B018
    with pytest.raises(AttributeError, match="has no attribute 'NoSuch'"):
        wrong.NoSuch  # noqa: B018
