"""Notebooks are made from the tutorials: the same code, in the format that Jupyter reads."""

import base64
import json
from pathlib import Path

import pytest
from docs.building.notebooks import (
    SETUP,
    notebook,
    plain_markdown,
    with_notebook_link,
    write_notebooks,
)
from tests.docs import blocks

TUTORIALS = Path(__file__).parents[2] / "docs" / "tutorials"
PAGE = """---
title: x
---
(top)=
# A page

Words with [a link](other.md) and [another](https://x.org), and a {py:obj}`name <headstart.Name>`.

```python
print(1)
```

```text
1
```

:::{note}
Mind this.
:::

![A picture](p.png)

```bash
ls
```

```{code-cell} ipython3
:tags: [hide]

x = 2
```
"""


def test_a_page_becomes_cells(tmp_path: Path) -> None:
    (tmp_path / "p.png").write_bytes(b"picture")
    made = notebook(PAGE, tmp_path)
    assert (made["nbformat"], made["nbformat_minor"]) == (4, 5)
    setup, *cells = made["cells"]
    assert setup["source"] == SETUP
    kinds = [cell["cell_type"] for cell in cells]
    assert kinds == ["markdown", "code", "markdown", "markdown", "markdown", "code"]
    words, code, note, picture, shell, last = cells
    assert words["source"].startswith("# A page\n\nWords with a link and [another](https://x.org)")
    assert words["source"].endswith("a `name`.")
    assert code["source"] == "print(1)"
    assert code["outputs"] == [{"name": "stdout", "output_type": "stream", "text": "1\n"}]
    assert note["source"] == "> **Note**\n> \n> Mind this."
    assert picture["source"] == "![A picture](attachment:p.png)"
    assert base64.b64decode(picture["attachments"]["p.png"]["image/png"]) == b"picture"
    assert shell["source"] == "```bash\nls\n```"
    assert last["source"] == "x = 2"
    assert len({cell["id"] for cell in made["cells"]}) == 7


def test_a_page_links_to_its_notebook() -> None:
    assert with_notebook_link("# A\n\nWords.\n# B\n", "a") == (
        "# A\n\n{download}`This page as a notebook </generated/notebooks/a.ipynb>`\n\nWords.\n# B\n"
    )


def test_a_picture_that_is_missing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"'p.png'"):
        notebook("![A picture](p.png)", tmp_path)


def test_the_tutorials_become_notebooks_with_their_code(tmp_path: Path) -> None:
    written = write_notebooks(TUTORIALS, tmp_path)
    assert {"first-comparison", "first-warm-start"} <= {path.stem for path in written}
    for path in written:
        made = json.loads(path.read_text(encoding="utf-8"))
        code = [cell["source"] for cell in made["cells"] if cell["cell_type"] == "code"]
        page = (TUTORIALS / f"{path.stem}.md").read_text(encoding="utf-8")
        assert code == [SETUP, *(cell.code.rstrip("\n") for cell in blocks.cells(page))]
        words = "".join(cell["source"] for cell in made["cells"] if cell["cell_type"] != "code")
        assert "](../" not in words
        assert ":::" not in words


@pytest.mark.parametrize(("installed", "commands"), [(True, 0), (False, 1)])
def test_the_first_cell_installs_where_the_library_is_missing(
    installed: bool, commands: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    run: list[list[str]] = []
    monkeypatch.setattr("importlib.util.find_spec", lambda _: object() if installed else None)
    monkeypatch.setattr("subprocess.run", lambda command, check: run.append(command))
    exec(compile(SETUP, "the first cell", "exec"), {})
    assert [command[-1] for command in run] == ["headstart[serve]"] * commands


def test_a_page_becomes_plain_markdown() -> None:
    card = ":::{grid-item-card} A card\n:link: a/b\n\nIt.\n:::\n"
    page = PAGE + f"\n::::{{grid}} 1 3\n:gutter: 3\n\n{card}::::\n"
    page += (
        "\nSee {doc}`the gallery <generated/gallery/index>`.\n\n```{toctree}\n:hidden:\n\na\n```\n"
    )
    plain = plain_markdown(page)
    assert plain.startswith("# A page\n\nWords with [a link](other.md)")
    assert "and a `name`.\n\n```python\nprint(1)\n```\n\n```text\n1\n```\n\n> **Note**" in plain
    assert "**[A card](a/b.md)**: It.\n" in plain
    assert plain.endswith("See [the gallery](generated/gallery/index.md).\n")
