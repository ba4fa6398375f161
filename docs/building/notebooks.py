"""The tutorials as notebooks: `python -m docs.building.notebooks` writes them."""

import re
from pathlib import Path

import jupytext
from docs.building.outside import led_inside

DOCS = Path(__file__).parents[1]
TUTORIALS, NOTEBOOKS = DOCS / "tutorials", DOCS / "generated" / "notebooks"


def write_notebooks() -> None:
    """Write a notebook for each tutorial that has code."""
    NOTEBOOKS.mkdir(parents=True, exist_ok=True)
    for page in sorted(TUTORIALS.glob("*.md")):
        text = page.read_text(encoding="utf-8")
        if "```python" in text:
            made = jupytext.reads(led_inside(text, TUTORIALS, NOTEBOOKS), fmt="md")
            jupytext.write(made, NOTEBOOKS / f"{page.stem}.ipynb")


def with_notebook_link(page: str, name: str) -> str:
    """The page with a link to its notebook below the title."""
    link = f"{{download}}`This page as a notebook </generated/notebooks/{name}.ipynb>`"
    return re.sub(r"^(# .+)$", rf"\1\n\n{link}", page, count=1, flags=re.MULTILINE)


if __name__ == "__main__":
    write_notebooks()
