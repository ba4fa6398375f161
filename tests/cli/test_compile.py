"""`headstart compile`, and the processes that come after it."""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from headstart.kernels.compilation import PACKAGE, VARIABLE, cache_folder, compiled_functions

pytestmark = pytest.mark.slow

USE = """
import numpy as np
import headstart as hs
from headstart.kernels.compilation import n_compiled

bandit = hs.MetaBandit(dimension=5, seed=1)
arms = np.random.default_rng(1).normal(size=(3, 5))
bandit.reward(bandit.decide("a", arms).id, 1.0)
print("propensity", bandit.decide("a", arms).propensity)
"""
SIMULATE = """
environment = hs.environments.Synthetic(dimension=5, n_arms=3)
learner = hs.Learner("ours", policy=hs.policies.BayesUCB(), prior=hs.priors.Hierarchical())
hs.simulate(environment, [learner], n_tasks=3, horizon=10, replications=4)
bandit.reward_many(bandit.decide_many(["a", "b"], arms).ids, [0.5, 1.5])
bandit.finish("a")
"""
REPORT = """
print("compiled", n_compiled())
"""


def _python(
    *arguments: str,
    variables: Mapping[str, str],
    package: Path = PACKAGE,
    command: Sequence[str] = (),
) -> subprocess.CompletedProcess[str]:
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in {VARIABLE, "NUMBA_CACHE_DIR", "XDG_CACHE_HOME"}
    }
    environment |= {"PYTHONPATH": str(package.parent), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [*command, sys.executable, *arguments],
        env=environment | dict(variables),
        capture_output=True,
        text=True,
        check=False,
    )


def _headstart(*arguments: str, cache: Path) -> subprocess.CompletedProcess[str]:
    command = ("-c", "from headstart.cli import app; app()", *arguments)
    return _python(*command, variables={VARIABLE: str(cache)})


def _number(word: str, output: str) -> float:
    found = re.search(rf"{word} ([\d.]+)", output)
    assert found, output
    return float(found[1])


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache that `headstart compile` filled; test processes share it.

    It starts from what is compiled already: the rest takes a minute or two.
    """
    base = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent
    folder, output = base / "compiled", base / "compiled.txt"
    try:
        folder.mkdir()
    except FileExistsError:
        while not output.exists():
            time.sleep(0.1)
    else:
        kept = cache_folder()
        if kept is not None:
            shutil.copytree(kept, folder / kept.name, dirs_exist_ok=True)
        done = _headstart("compile", cache=folder)
        part = output.with_suffix(".part")
        part.write_text(done.stdout + done.stderr if done.returncode == 0 else "")
        part.replace(output)
    assert str(folder) in output.read_text()
    return folder


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the sources."""
    copy = tmp_path / "copy" / "headstart"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    return copy


def test_after_it_simulation_and_decisions_compile_nothing(cache: Path) -> None:
    done = _python("-c", USE + SIMULATE + REPORT, variables={VARIABLE: str(cache)})
    assert done.returncode == 0, done.stderr
    assert _number("compiled", done.stdout) == 0
    assert done.stderr == ""


def test_it_compiles_every_function(cache: Path) -> None:
    import headstart.live
    import headstart.logs.read
    import headstart.simulation

    assert headstart.live
    assert headstart.logs.read
    assert headstart.simulation
    (folder,) = cache.iterdir()
    kept = {path.name.partition(".py3")[0].rpartition("-")[0] for path in folder.iterdir()}
    for name, function in compiled_functions().items():
        # What is inlined into its callers has no machine code of its own.
        if name.startswith("headstart.") and function.targetoptions["inline"] != "always":
            module, _, own = name.removeprefix("headstart.").rpartition(".")
            assert f"{module.rpartition('.')[2]}.{own}-{module}" in kept


def test_check_says_whether_everything_is_compiled(cache: Path, tmp_path: Path) -> None:
    done = _headstart("compile", "--check", cache=cache)
    assert done.returncode == 0, done.stdout + done.stderr
    assert str(cache) in done.stdout
    (folder,) = cache.iterdir()
    without = tmp_path / "cache"
    shutil.copytree(folder, without / folder.name)
    for file in (without / folder.name).glob("*decide_one-*"):
        file.unlink()
    done = _headstart("compile", "--check", cache=without)
    assert done.returncode == 1
    assert "decide_one is not compiled" in done.stdout
    assert not list((without / folder.name).glob("*decide_one-*"))


@pytest.mark.nightly  # compiles a part of the package
def test_an_edit_in_a_kernel_is_noticed_by_live_code(
    cache: Path, package: Path, tmp_path: Path
) -> None:
    variables = {VARIABLE: str(shutil.copytree(cache, tmp_path / "cache"))}
    before = _python("-c", USE + REPORT, package=package, variables=variables)
    assert before.returncode == 0, before.stderr
    assert _number("compiled", before.stdout) == 0
    assert _number("propensity", before.stdout) == 1.0
    edited = 0
    for file in (package / "kernels").glob("*.py"):
        text = file.read_text("utf-8")
        file.write_text(text.replace("TIE_TOLERANCE = 1e-9", "TIE_TOLERANCE = 1e9"), "utf-8")
        edited += text != file.read_text("utf-8")
    assert edited == 1
    after = _python("-c", USE + REPORT, package=package, variables=variables)
    assert after.returncode == 0, after.stderr
    assert _number("compiled", after.stdout) > 0
    # All arms tie now.
    assert _number("propensity", after.stdout) == pytest.approx(1 / 3)


def _make_read_only(package: Path) -> Sequence[str]:
    """The beginning of a command that cannot write to the package, even as root."""
    if shutil.which("unshare") is not None:
        mount = f"mount --bind {package} {package} && mount -o remount,ro,bind {package}"
        command = ("unshare", "-rm", "sh", "-c", f'{mount} && exec "$@"', "sh")
        attempt = subprocess.run(
            [*command, "touch", f"{package}/x"], capture_output=True, text=True, check=False
        )
        if "Read-only" in attempt.stderr:
            return command
    (package / "__pycache__").write_text("a file where the folder would be")
    return ()


@pytest.mark.nightly  # compiles a part of the package
def test_without_a_writable_package_or_home_it_works_with_one_warning(
    package: Path, tmp_path: Path
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    done = _python(
        "-c",
        USE + REPORT,
        package=package,
        command=_make_read_only(package),
        variables={
            "HOME": "/dev/null",
            "XDG_CACHE_HOME": "/dev/null/cache",
            "TMPDIR": str(temporary),
        },
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("CompilationCacheWarning") == 1
    assert done.stderr.count(str(temporary)) == 1
    assert _number("compiled", done.stdout) > 0
    assert list(temporary.rglob("*.nbc"))
