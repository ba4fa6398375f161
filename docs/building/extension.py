"""What this site adds to Sphinx: generated pages, mathematics, links in docstrings."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from docs.building import docstrings, mathematics
from docs.building.api_pages import write_api_pages
from docs.building.files import write_changed
from docs.building.notebooks import NOTEBOOKS, TUTORIALS, with_notebook_link, write_notebooks
from docs.building.openapi import openapi_page, service_document
from docs.building.outside import PROJECT, led_inside, project_pages
from docs.building.parameters import sections
from docs.building.public import without_docstring, without_example
from docutils import nodes
from sphinx import addnodes
from sphinx.errors import ExtensionError

DOCS = Path(__file__).parents[1]
GENERATED = DOCS / "generated"


def setup(app: Any) -> dict[str, bool]:
    """Connect everything; called by Sphinx."""
    app.connect("builder-inited", _generate)
    app.connect("source-read", _lead_inside)
    app.connect("autodoc-process-docstring", _docstring)
    app.connect("autodoc-process-signature", _signature)
    app.connect("autodoc-skip-member", _skip)
    app.connect("html-page-context", _breakable)
    app.add_html_math_renderer(
        "drawn", inline_renderers=(_inline, None), block_renderers=(_block, None)
    )
    app.add_generic_role("code-name", nodes.literal)
    app.add_role("name", _name_role)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _generate(app: Any) -> None:
    bare = without_docstring() + without_example()
    if bare:
        raise ExtensionError(f"public names without docstring or example: {', '.join(bare)}")
    write_api_pages(GENERATED / "api")
    pages = {
        "commands.md": _commands(),
        "service.md": openapi_page(service_document()),
    }
    write_changed(GENERATED, pages)
    write_changed(PROJECT, project_pages())
    write_notebooks()


def _commands() -> str:
    """The commands and their options, by Typer itself."""
    command = [sys.executable, "-m", "typer", "headstart.cli", "utils", "docs"]
    command += ["--name", "headstart", "--title", "Commands and options"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def _lead_inside(app: Any, docname: str, source: list[str]) -> None:
    folder = (DOCS / docname).parent
    if folder == TUTORIALS and (NOTEBOOKS / f"{Path(docname).name}.ipynb").exists():
        source[0] = with_notebook_link(source[0], Path(docname).name)
    if not folder.is_relative_to(GENERATED):
        source[0] = led_inside(source[0], folder, folder)


def _docstring(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    lines[:] = docstrings.as_markup(lines)
    if what == "class":
        comments = docstrings.field_comments(thing)
        listed = {name for names in sections(thing.__doc__ or "").values() for name in names}
        shown = {name: text for name, text in comments.items() if name not in listed}
        lines += [docstrings.escaped(line) for line in docstrings.fields_as_list(shown)]


def _skip(app: Any, what: str, name: str, thing: Any, skip: bool, options: Any) -> bool | None:
    """Leave out the fields of a named tuple, which its signature and list of fields have."""
    return True if str(thing.__doc__).startswith("Alias for field number") else None


def _signature(
    app: Any, what: str, name: str, thing: Any, options: Any, signature: str, returns: str
) -> tuple[str, str] | None:
    if signature is None:
        return None
    return docstrings.shortened(signature), docstrings.shortened(returns or "")


def _breakable(app: Any, name: str, template: str, context: dict[str, Any], tree: Any) -> None:
    """Let long names in the text break after their parts, so that tables fit a narrow page."""
    if "body" in context:
        context["body"] = re.sub(
            r'(?<=<span class="pre">)[^<]+',
            lambda match: re.sub(r"(?<=[^\W\d])([._/=(]|::)(?=\w)", r"\1<wbr>", match[0]),
            context["body"],
        )


def _name_role(
    role: str, raw: str, text: str, line: int, inliner: Any, options: Any = None, content: Any = ()
) -> tuple[list[nodes.Node], list[nodes.Node]]:
    """`name` in a docstring: a link where it is a public name, code elsewhere."""
    bare = re.sub(r"\(.*\)$", "", text).removeprefix("hs.")
    target = docstrings.link_targets().get(bare)
    if target is None:
        return [nodes.literal(raw, text, classes=["code"])], []
    reference = addnodes.pending_xref(
        raw, nodes.literal(raw, text, classes=["xref", "py"]),
        refdomain="py", reftype="obj", reftarget=target, refexplicit=True, refwarn=True,
        refdoc=inliner.document.settings.env.docname,
    )  # fmt: skip
    return [reference], []


def _inline(translator: Any, node: Any) -> None:
    translator.body.append(mathematics.inline_math(node.astext()))
    raise nodes.SkipNode


def _block(translator: Any, node: Any) -> None:
    translator.body.append(mathematics.display_math(node.astext()))
    raise nodes.SkipNode
