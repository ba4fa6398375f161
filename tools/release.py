"""`make release`: build the sdist and the wheel from a clean clone, and try the wheel alone.

The clone has what is committed and nothing else. Files go to dist/ once everything has passed.
Nothing is uploaded.
"""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[1]

# Runs in an environment with the wheel alone, in an empty folder.
SMOKE = """
import headstart as hs
from pathlib import Path
agents = [hs.learners.itl(regularization=1.0), hs.learners.headstart()]
results = hs.simulate(hs.environments.Synthetic(), agents, n_tasks=3, horizon=10, replications=2)
assert dict(results.regret.sizes) == {"learner": 2, "replication": 2, "task": 3, "round": 10}
bandit = hs.MetaBandit(dimension=2, seed=0)
decision = bandit.decide("ann", [[1.0, 0.0], [0.0, 1.0]])
assert bandit.reward(decision.id, 1.0) == "paid"
bandit.save("bandit.npz")
assert hs.MetaBandit.load("bandit.npz").reward(decision.id, 1.0) == "duplicate"
assert (Path(hs.__file__).parent / "py.typed").is_file()
print(hs.__version__)
"""


def main() -> int:
    """Build, check and try; returns the exit status."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        clone, built = work / "clone", work / "dist"
        _say("a clean clone of what is committed")
        _run(["git", "clone", "--quiet", "--no-hardlinks", str(ROOT), str(clone)])
        _say("sdist and wheel")
        _run([sys.executable, "-m", "build", "--no-isolation", "--outdir", str(built), str(clone)])
        (wheel,), (sdist,) = built.glob("*.whl"), built.glob("*.tar.gz")
        version = written_version(clone)
        _check(version in wheel.name and version in sdist.name, f"the version is {version}")
        _run([sys.executable, "-m", "twine", "check", "--strict", str(wheel), str(sdist)])
        unwanted = unwanted_files(names_in(wheel))
        _check(not unwanted, f"the wheel must hold the package alone, got {unwanted}")
        _check(any(n.endswith("docs/conf.py") for n in names_in(sdist)), "the sdist has the docs")
        _say("the wheel alone, in an environment of its own")
        said = _try(wheel, work / "environment")
        _check(said.endswith(version), f"headstart {version} is installed, got {said!r}")
        shutil.rmtree(ROOT / "dist", ignore_errors=True)
        shutil.copytree(built, ROOT / "dist")
    _say(f"dist/{wheel.name} and dist/{sdist.name} are ready; nothing was uploaded")
    return 0


def written_version(root: Path) -> str:
    """The version, from the one place where it is written."""
    text = (root / "src" / "headstart" / "__init__.py").read_text(encoding="utf-8")
    found = re.search(r'^__version__ = "(.+)"$', text, flags=re.MULTILINE)
    if found is None:
        raise ValueError('src/headstart/__init__.py must have a line __version__ = "…"')
    return found[1]


def names_in(archive: Path) -> list[str]:
    """The files of a wheel or an sdist."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            return wheel.namelist()
    with tarfile.open(archive) as sdist:
        return sdist.getnames()


def unwanted_files(names: Iterable[str]) -> list[str]:
    """The files of a wheel that are not of the package."""
    return [n for n in names if not re.match(r"headstart/|headstart-[^/]+\.dist-info/", n)]


def _try(wheel: Path, folder: Path) -> str:
    venv.create(folder, with_pip=True)
    scripts = folder / ("Scripts" if os.name == "nt" else "bin")
    pip = [str(scripts / "python"), "-m", "pip", "install", "--quiet"]
    _run([*pip, "--disable-pip-version-check", str(wheel)])
    empty = folder / "empty"
    empty.mkdir()
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    smoke = [str(scripts / "python"), "-W", "error", "-c", SMOKE]
    said = subprocess.run(smoke, cwd=empty, env=clean, check=True, capture_output=True, text=True)
    command = [str(scripts / "headstart"), "--version"]
    told = subprocess.run(command, cwd=empty, env=clean, check=True, capture_output=True, text=True)
    _check(told.stdout == said.stdout, "the command has the package's version")
    return said.stdout.strip()


def _run(command: list[str]) -> None:
    subprocess.run(command, check=True)


def _check(holds: bool, what: str) -> None:
    if not holds:
        raise SystemExit(f"not ready to release: {what}")


def _say(text: str) -> None:
    sys.stdout.write(f"release: {text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
