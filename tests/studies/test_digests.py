"""The digest of the code covers what a study's numbers go through, and nothing else."""

from pathlib import Path

import grimp
import pytest

import headstart
from headstart.studies import digests


def _modules_of_numbers() -> set[str]:
    """The modules that playing a shard imports, and those that specs find by name."""
    graph = grimp.build_graph("headstart")
    play = "headstart.studies.shards"
    modules = {play} | graph.find_upstream_modules(play)
    for package in ("policies", "priors", "environments", "learners"):
        name = f"headstart.{package}"
        modules |= {name} | graph.find_descendants(name)
        modules |= graph.find_upstream_modules(name, as_package=True)
    return modules


def _entry(module: str) -> str | None:
    """What of the list covers a module."""
    path = module.removeprefix("headstart.").replace(".", "/")
    return next(
        (
            entry
            for entry in digests.NUMBERS
            if path == entry.removesuffix(".py") or path.startswith(f"{entry}/")
        ),
        None,
    )


def test_all_that_numbers_go_through_is_in_the_digest() -> None:
    left_out = {module for module in _modules_of_numbers() if _entry(module) is None}
    assert left_out == set()


def test_nothing_else_is_in_the_digest() -> None:
    used = {_entry(module) for module in _modules_of_numbers()}
    assert set(digests.NUMBERS) - used == set()


@pytest.mark.parametrize(
    ("file", "counts"),
    [
        ("studies/shards.py", True),
        ("kernels/learning.py", True),
        ("specs.py", True),
        ("cli/run.py", False),
        ("service/dashboard/charts.py", False),
        ("studies/summary.py", False),
    ],
)
def test_the_digest_changes_with_what_makes_numbers(
    file: str, counts: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert Path(headstart.__file__).parent == digests.ROOT
    root = tmp_path / "headstart"
    for name in (*digests.NUMBERS, file):
        path = root / (name if name.endswith(".py") else f"{name}/__init__.py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("a = 1\n")
    monkeypatch.setattr(digests, "ROOT", root)
    before = digests.code_digest()
    (root / file).write_text("a = 2\n")
    assert (digests.code_digest() != before) is counts
