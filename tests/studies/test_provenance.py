"""The digest of the code covers every package that a study's numbers go through."""

from pathlib import Path

import grimp
import pytest

import headstart
from headstart.studies import provenance


def test_all_that_shards_import_is_in_the_digest() -> None:
    graph = grimp.build_graph("headstart")
    reached = graph.find_upstream_modules("headstart.studies.shards")
    # Specs find these by name.
    for package in ("policies", "priors", "environments", "learners"):
        reached |= graph.find_upstream_modules(f"headstart.{package}", as_package=True)
    packages = {module.split(".")[1] for module in reached if "." in module}
    assert {"core", "kernels", "datasets", "simulation", "specs"} <= packages
    assert not packages & provenance.NO_NUMBERS


def test_what_is_left_out_exists() -> None:
    assert Path(headstart.__file__).parent == provenance.ROOT
    assert all((provenance.ROOT / name / "__init__.py").exists() for name in provenance.NO_NUMBERS)


@pytest.mark.parametrize(
    ("file", "counts"), [("studies/shards.py", True), ("specs.py", True), ("cli/run.py", False)]
)
def test_the_digest_changes_with_what_makes_numbers(
    file: str, counts: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "headstart"
    for name in ("__init__.py", file):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("a = 1\n")
    monkeypatch.setattr(provenance, "ROOT", root)
    before = provenance.code_digest()
    (root / file).write_text("a = 2\n")
    assert (provenance.code_digest() != before) is counts
