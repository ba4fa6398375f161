"""Pages in other forms: tutorials as notebooks, and every page as plain Markdown."""

import base64
import hashlib
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_FENCE = re.compile(
    r"^(?P<marks>```+|:::+)(?P<info>[^\n]*)\n(?P<body>.*?)^(?P=marks)[ \t]*$",
    re.MULTILINE | re.DOTALL,
)
_IMAGE = re.compile(r"!\[([^\]]*)\]\((?!https?:)([^)\s]+)\)")
_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((?!https?:)[^)]+\)")
_ROLE = re.compile(r"\{[\w:-]+\}`([^`<]*?)(?:\s*<[^`]*>)?`")
_CODE = {"python", "{code-cell}", "{code-cell} python", "{code-cell} ipython3"}
_NOTES = {"note", "tip", "warning", "important", "seealso", "admonition", "dropdown"}
_BOXES = {"div", "grid", "grid-item"}
_TYPES = {".png": "image/png", ".jpg": "image/jpeg", ".svg": "image/svg+xml"}


# The first cell of a notebook: what Colab, or another place without the library, needs.
SETUP = """\
# Installs headstart from your clone of the repository where it is missing, as in Colab.
import importlib.util
import subprocess
import sys

CLONE = "headstart"
if importlib.util.find_spec("headstart") is None:
    command = [sys.executable, "-m", "pip", "install", "--quiet", f"{CLONE}[serve]"]
    subprocess.run(command, check=True)"""


def write_notebooks(tutorials: Path, folder: Path) -> list[Path]:
    """Write one notebook per page with code; returns their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for page in sorted(tutorials.glob("*.md")):
        made = notebook(page.read_text(encoding="utf-8"), page.parent)
        if sum(cell["cell_type"] == "code" for cell in made["cells"]) > 1:
            path = folder / f"{page.stem}.ipynb"
            text = json.dumps(made, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
            path.write_text(text, encoding="utf-8")
            written.append(path)
    return written


def notebook(page: str, folder: Path) -> dict[str, Any]:
    """A page of MyST Markdown as a notebook (nbformat 4.5); images are read from `folder`.

    A python block becomes a code cell and the text block after it that cell's output. Other blocks
    and the prose between become Markdown. Images are embedded, and links to other pages, which a
    file on its own does not have, become words. The first cell installs the library if need be.
    """
    cells = [_code_cell(SETUP)]
    for kind, text in _parts(page):
        if kind == "code":
            cells.append(_code_cell(text))
        elif kind == "output" and cells and cells[-1]["cell_type"] == "code":
            cells[-1]["outputs"] = [{"name": "stdout", "output_type": "stream", "text": text}]
        elif kind == "output":
            cells.append(_markdown_cell(f"```text\n{text}```", folder))
        elif text.strip():
            cells.append(_markdown_cell(text.strip(), folder))
    for i, cell in enumerate(cells):
        cell["id"] = hashlib.sha256(f"{i} {cell['source']}".encode()).hexdigest()[:8]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def plain_markdown(page: str) -> str:
    """A page of MyST Markdown as Markdown that needs no Sphinx."""
    parts = []
    for kind, text in _parts(page):
        fence = {"code": "python", "output": "text"}.get(kind)
        parts.append(text.strip() if fence is None else f"```{fence}\n{text}```")
    text = "\n\n".join(part for part in parts if part)
    text = re.sub(r"^\([\w-]+\)=\n", "", text, flags=re.MULTILINE)
    text = _IMAGE.sub(r"*Figure: \1*", text)  # the site keeps pictures elsewhere
    text = re.sub(r"\{doc\}`([^`<]+?)\s*<([^`>]+)>`", r"[\1](\2.md)", text)
    return _ROLE.sub(r"`\1`", text) + "\n"


def with_notebook_link(page: str, name: str) -> str:
    """The page with a link to its notebook below the title."""
    link = f"{{download}}`This page as a notebook </generated/notebooks/{name}.ipynb>`"
    return re.sub(r"^(# .+)$", rf"\1\n\n{link}", page, count=1, flags=re.MULTILINE)


def _parts(page: str) -> Iterator[tuple[str, str]]:
    """The page in order: prose, code and what code printed."""
    page = re.sub(r"\A---\n.*?\n---\n", "", page, flags=re.DOTALL)
    end = 0
    for fence in _FENCE.finditer(page):
        yield "prose", page[end : fence.start()]
        yield from _block(fence["info"].strip(), fence["body"], fence[0])
        end = fence.end()
    yield "prose", page[end:]


def _block(info: str, body: str, whole: str) -> Iterator[tuple[str, str]]:
    named = re.match(r"\{([\w-]+)\}\s*(.*)", info)
    if info in _CODE:
        yield "code", re.sub(r"\A(?::[\w-]+:[^\n]*\n)+\n?", "", body)
    elif info == "text":
        yield "output", body
    elif named and named[1] in _NOTES:
        title = named[2] or named[1].capitalize()
        content = re.sub(r"\A(?::[\w-]+:[^\n]*\n)+\n?", "", body).strip()
        yield "prose", "\n".join(f"> {line}" for line in [f"**{title}**", "", *content.split("\n")])
    elif named and named[1] in _BOXES:
        yield from _parts(body)
    elif named and named[1] == "grid-item-card":
        link = re.search(r"^:link: (\S+)$", body, flags=re.MULTILINE)
        title = f"[{named[2]}]({link[1]}.md)" if link else named[2]
        yield "prose", f"**{title}**: {_caption(body)}"
    elif named and named[1] == "math":
        yield "prose", f"$$\n{body}$$"
    elif named and named[1] in {"figure", "image"}:
        yield "prose", f"![{_caption(body)}]({named[2]})"
    elif not named:
        yield "prose", whole


def _caption(body: str) -> str:
    """The words of a directive, without its options."""
    return " ".join(line for line in body.split("\n") if line and not line.startswith(":"))


def _code_cell(text: str) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {},
        "outputs": [],
        "source": text.rstrip("\n"),
    }


def _markdown_cell(text: str, folder: Path) -> dict[str, Any]:
    attachments: dict[str, dict[str, str]] = {}

    def embedded(found: re.Match[str]) -> str:
        path = folder / found[2]
        if not path.is_file():
            raise ValueError(f"the page shows {found[2]!r}, which is not in {folder}")
        data = base64.b64encode(path.read_bytes()).decode()
        attachments[path.name] = {_TYPES[path.suffix]: data}
        return f"![{found[1]}](attachment:{path.name})"

    text = re.sub(r"^\([\w-]+\)=\n", "", text, flags=re.MULTILINE)
    text = _ROLE.sub(r"`\1`", text)
    text = _LINK.sub(r"\1", _IMAGE.sub(embedded, text))
    cell: dict[str, Any] = {"cell_type": "markdown", "metadata": {}, "source": text}
    return cell | ({"attachments": attachments} if attachments else {})


if __name__ == "__main__":
    docs = Path(__file__).parents[1]
    for path in write_notebooks(docs / "tutorials", docs / "generated" / "notebooks"):
        sys.stdout.write(f"{path}\n")
