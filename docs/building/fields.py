"""Comments on the fields of a class, as text of its page."""

import ast
import inspect
import textwrap


def field_comments(cls: type) -> dict[str, str]:
    """What the comments beside or above the fields of a class say, by field."""
    try:
        source = textwrap.dedent(inspect.getsource(cls))
    except (OSError, TypeError):
        return {}
    lines = source.splitlines()
    body = ast.parse(source).body[0]
    found = {}
    for node in body.body if isinstance(body, ast.ClassDef) else ():
        if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Name):
            continue
        end = (node.end_lineno or node.lineno) - 1
        beside = lines[end].encode()[node.end_col_offset :].decode().strip()
        comment = beside if beside.startswith("#") else _above(lines, node.lineno - 1)
        if comment and not node.target.id.startswith("_") and not _for_tools(comment):
            found[node.target.id] = comment.lstrip("# ").strip()
    return found


def _above(lines: list[str], number: int) -> str:
    """The comment lines directly above a line."""
    first = number
    while first > 0 and lines[first - 1].strip().startswith("#"):
        first -= 1
    return " ".join(line.strip().lstrip("# ") for line in lines[first:number])


def _for_tools(comment: str) -> bool:
    return comment.lstrip("# ").startswith(("noqa", "type:", "fmt:"))


def as_list(comments: dict[str, str]) -> list[str]:
    """Comments as a definition list."""
    out = []
    for name, text in comments.items():
        sentence = text[0].upper() + text[1:] + ("" if text.endswith(".") else ".")
        out += [f"``{name}``", f"    {sentence}", ""]
    return ["", "Fields:", "", *out] if out else []
