"""The version is written once, and the changelog has the usual form."""

import re
import tomllib
from pathlib import Path

import hatch_build
import pytest
from tools import release

import headstart

ROOT = Path(__file__).parents[2]


def test_the_version_is_written_in_one_place() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert "version" not in project
    assert "version" in project["dynamic"]
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


def test_one_address_makes_urls_and_absolute_links() -> None:
    address = "https://example.org/us/headstart"
    assert set(hatch_build.urls(address)) >= {"Source", "Documentation", "Changelog", "Issues"}
    assert all(url.startswith(address) for url in hatch_build.urls(address).values())
    text = "[a](docs/a.md) ![b](docs/b.png) [c](https://example.org) [d](#d) [e](LICENSE)"
    assert hatch_build.absolute(text, address) == (
        f"[a]({address}/blob/main/docs/a.md) ![b]({address}/raw/main/docs/b.png) "
        f"[c](https://example.org) [d](#d) [e]({address}/blob/main/LICENSE)"
    )


def test_every_link_of_the_published_readme_is_absolute() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    published = hatch_build.absolute(text, "https://example.org/headstart")
    targets = re.findall(r"\]\(([^)]+)\)", published)
    assert len(targets) > 10
    assert all(target.startswith(("https://", "#")) for target in targets)


def test_without_an_address_nothing_is_published() -> None:
    assert hatch_build.urls("") == {}
    assert hatch_build.absolute("[a](docs/a.md)", "") == "[a](docs/a.md)"


def test_the_package_has_no_extras_of_developers() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(project["optional-dependencies"]) == {"dask", "data", "serve"}
