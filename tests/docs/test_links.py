"""Links of the pages lead somewhere, and indices list every page."""

import re
from pathlib import Path

import pytest
from tests.docs import blocks

ROOT = blocks.DOCS.parent
LINK = re.compile(r"\]\(([^)\s]+)\)")


def _written() -> list[Path]:
    """Every page that is written by hand, with those beside the folder of docs."""
    pages = [blocks.DOCS / page for page in [*blocks.pages(), *blocks.service_pages()]]
    return [*pages, blocks.DOCS / "design.md", ROOT / "README.md", ROOT / "CONTRIBUTING.md"]


def _links(text: str) -> list[str]:
    """Targets of links outside of code, but for those of other sites."""
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    prose = re.sub(r"`[^`\n]+`", "", prose)
    return [target for target in LINK.findall(prose) if "://" not in target]


def _anchors(path: Path) -> set[str]:
    """The anchors of a page's headings: lower case, spaces as hyphens, no punctuation."""
    prose = re.sub(r"^```.*?^```$", "", path.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", prose, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", _written(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    for target in _links(page.read_text("utf-8")):
        file, _, anchor = target.partition("#")
        if "generated/" in file:
            continue  # made with the site, which checks its own links
        found = (page.parent / file).resolve() if file else page
        assert found.exists(), target
        assert not anchor or anchor in _anchors(found), target


@pytest.mark.parametrize("folder", ["tutorials", "how-to", "explanation", "developers"])
def test_the_index_lists_every_page(folder: str) -> None:
    index = (blocks.DOCS / folder / "index.md").read_text("utf-8")
    pages = {path.name for path in (blocks.DOCS / folder).glob("*.md")} - {"index.md"}
    assert {target.partition("#")[0] for target in _links(index)} >= pages
    menus = re.findall(r"^```\{toctree\}\n(.*?)^```$", index, flags=re.MULTILINE | re.DOTALL)
    entries = re.findall(r"^(?!:|\.\./|$).*$", "\n".join(menus), flags=re.MULTILINE)
    assert sorted(f"{entry}.md" for entry in entries) == sorted(pages)


def test_the_pages_of_the_service_are_those_of_its_folder() -> None:
    pages = {path.relative_to(blocks.DOCS).as_posix() for path in blocks.DOCS.glob("service/*.md")}
    assert {"service.md", *pages} == {*blocks.service_pages()}
    assert {*_links(blocks.text_of("service.md"))} >= pages


def test_a_broken_link_is_noticed(tmp_path: Path) -> None:
    assert _links("[a](b.md) `[c](d.md)` [e](https://f)\n```text\n[g](h.md)\n```\n") == ["b.md"]
    page = tmp_path / "page.md"
    page.write_text("# What is λ?\n\n## In `code`, too\n", encoding="utf-8")
    assert _anchors(page) == {"what-is-λ", "in-code-too"}
