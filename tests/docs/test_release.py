"""The version is written once, and the changelog has the usual form."""

import re
import tomllib
from pathlib import Path

import pytest
from tools import release

import headstart

ROOT = Path(__file__).parents[2]


def test_the_version_is_written_in_one_place() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert "version" not in project
    assert project["dynamic"] == ["version"]
    assert release.written_version(ROOT) == headstart.__version__


def test_the_citation_is_of_this_version() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {headstart.__version__}\n" in citation


def test_a_missing_version_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "src" / "headstart").mkdir(parents=True)
    (tmp_path / "src" / "headstart" / "__init__.py").write_text("")
    with pytest.raises(ValueError, match="__version__"):
        release.written_version(tmp_path)


def test_the_wheel_holds_the_package_alone() -> None:
    names = ["headstart/py.typed", "headstart-0.1.0.dist-info/METADATA", "tests/conftest.py"]
    assert release.unwanted_files(names) == ["tests/conftest.py"]


def test_the_changelog_has_the_usual_form() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert text.startswith("# Changelog\n")
    versions = re.findall(r"^## (.+)$", text, flags=re.MULTILINE)
    assert versions[0] == "[Unreleased]"
    assert all(re.fullmatch(r"\[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d", v) for v in versions[1:])
    kinds = set(re.findall(r"^### (.+)$", text, flags=re.MULTILINE))
    assert kinds <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
