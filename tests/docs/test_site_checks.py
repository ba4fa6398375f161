"""The checks of a built site find what is wrong with it."""

import zlib
from pathlib import Path

import pytest
from docs.building import checks
from docs.building.docstrings import as_markup, escaped
from docs.building.public import documented_names


@pytest.fixture
def site(tmp_path: Path) -> Path:
    names = "\n".join(f"{name.full} py:class 1 x.html -" for name in documented_names())
    head = b"# Sphinx inventory version 2\n# Project: x\n# Version: 1\n# zlib\n"
    (tmp_path / "objects.inv").write_bytes(head + zlib.compress(names.encode()))
    (tmp_path / "b.html").write_text('<h1 id="here">B</h1>')
    return tmp_path


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ('<a href="b.html#here">b</a><a href="https://x.org">x</a>', None),
        ('<a href="c.html">c</a>', "a.html links to c.html, which is not there"),
        ('<a href="b.html#there">b</a>', "a.html links to b.html#there, which has no such place"),
        ('<a href="#there">b</a>', "a.html links to #there, which has no such place"),
        ('<script src="https://cdn.x/m.js"></script>', "a.html loads https://cdn.x/m.js"),
        ('<link rel="stylesheet" href="//cdn.x/f.css">', "a.html loads //cdn.x/f.css"),
        ('<link rel="canonical" href="https://x.org">', None),
        ('<img srcset="p.png 2x" alt="">', "a.html loads p.png, which is not there"),
        ('<img src="data:image/png;base64,AA" alt="">', None),
        ("<style>@import 'https://f.x/a.css';</style>", "a.html loads https://f.x/a.css"),
    ],
)
def test_links_and_what_is_loaded(site: Path, body: str, found: str | None) -> None:
    (site / "a.html").write_text(body)
    assert checks.problems(site) == ([] if found is None else [found])


def test_a_style_sheet_that_loads_a_font(site: Path) -> None:
    (site / "a.css").write_text("@font-face { src: url('https://f.x/a.woff2') }")
    assert checks.problems(site) == ["a.css loads https://f.x/a.woff2"]


def test_a_public_name_without_a_page(site: Path) -> None:
    head = b"# Sphinx inventory version 2\n# Project: x\n# Version: 1\n# zlib\n"
    (site / "objects.inv").write_bytes(head + zlib.compress(b"x.y py:class 1 x.html -"))
    assert "headstart.MetaBandit has no page" in checks.problems(site)


def test_an_empty_folder_is_no_site(tmp_path: Path) -> None:
    assert checks.problems(tmp_path) == [f"{tmp_path} has no page"]


def test_equations_are_literal_and_examples_stay() -> None:
    text = ["The sum", "", "    |x| = 1", "", "of |x|.", "", ">>> abs(-1) | 2", "3"]
    assert as_markup(text) == [
        "The sum", "", "::", "", "    |x| = 1", "", "of \\|x\\|.", "", ">>> abs(-1) | 2", "3",
    ]  # fmt: skip


def test_pages_and_plurals_in_docstrings() -> None:
    assert escaped("`Task`s (docs/how-to/own-agent.md)") == "`Task`\\ s (:doc:`/how-to/own-agent`)"
