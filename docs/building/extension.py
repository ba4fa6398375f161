"""What this site adds to Sphinx: generated pages, mathematics, links in docstrings."""

import re
from pathlib import Path
from typing import Any

from docs.building import design, docstrings, mathematics
from docs.building.api_pages import write_api_pages
from docs.building.command_line import command_line_page
from docs.building.files import write_changed
from docs.building.notebooks import with_notebook_link, write_notebooks
from docs.building.openapi import openapi_page, service_document
from docs.building.outside import PROJECT, led_inside, project_pages
from docs.building.parameters import sections
from docs.building.public import without_docstring, without_example
from docs.building.twins import twin, write_twins, written_in
from docutils import nodes
from sphinx import addnodes
from sphinx.errors import ExtensionError

DOCS = Path(__file__).parents[1]
GENERATED = DOCS / "generated"
TUTORIALS = DOCS / "tutorials"


def setup(app: Any) -> dict[str, bool]:
    """Connect everything; called by Sphinx."""
    app.connect("builder-inited", _generate)
    app.connect("source-read", _lead_inside)
    app.connect("autodoc-process-docstring", _docstring)
    app.connect("autodoc-process-signature", _signature)
    app.connect("autodoc-skip-member", _skip)
    app.connect("html-page-context", _breakable)
    app.connect("html-page-context", _twin)
    app.connect("build-finished", _write_twins)
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
        "commands.md": command_line_page(),
        "service.md": openapi_page(service_document()),
    }
    write_changed(GENERATED, pages)
    write_changed(PROJECT, project_pages())
    write_notebooks(TUTORIALS, GENERATED / "notebooks")


def _lead_inside(app: Any, docname: str, source: list[str]) -> None:
    folder = (DOCS / docname).parent
    if (GENERATED / "notebooks" / f"{Path(docname).name}.ipynb").exists() and folder == TUTORIALS:
        source[0] = with_notebook_link(source[0], Path(docname).name)
    if not folder.is_relative_to(GENERATED):
        source[0] = led_inside(source[0], folder, folder)
    if docname == "design":  # within the page, in its colours
        drawn = f"```{{raw}} html\n{design.picture(alone=False)}```"
        source[0] = re.sub(r"^!\[.*design\.svg\)$", lambda _: drawn, source[0], flags=re.MULTILINE)


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


def _twin(app: Any, name: str, template: str, context: dict[str, Any], tree: Any) -> None:
    """Have the page link to its Markdown, and name the file where it is written."""
    context["twin"] = f"{Path(name).name}.md" if twin(name) is not None else None
    context["written_in"] = written_in(name)


def _write_twins(app: Any, error: Exception | None) -> None:
    if error is None:
        titles = {page: title.astext() for page, title in app.env.titles.items()}
        included = app.env.toctree_includes
        write_twins(Path(app.outdir), titles, lambda page: included.get(page, ()))


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
