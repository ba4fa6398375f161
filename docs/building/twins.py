"""Pages as Markdown next to their HTML, and `llms.txt`, which lists them, for readers of text."""

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path

from docs.building.notebooks import plain_markdown
from docs.building.outside import PAGES, ROOT, led_inside
from docs.building.public import PublicName, documented_names, has_own_docstring, public_names

DOCS = Path(__file__).parents[1]
GENERATED = DOCS / "generated"
LEAD = (
    "> Bandits that start warm: a Python library, a command line and a decision service for linear "
    "bandits that learn, from the tasks so far, where the next one should start."
)


def write_twins(
    site: Path, titles: Mapping[str, str], children: Callable[[str], Sequence[str]]
) -> None:
    """Write the twin of every page, and `llms.txt` in the order of the menus.

    `titles` has the pages by name, and `children` returns those that a page's menu lists.
    """
    for page in titles:
        text = twin(page)
        if text is not None:
            (site / f"{page}.md").write_text(text, encoding="utf-8")
    lines = "\n".join(_listed(titles, children))
    (site / "llms.txt").write_text(f"# headstart\n\n{LEAD}\n{lines}\n", encoding="utf-8")


def _listed(titles: Mapping[str, str], children: Callable[[str], Sequence[str]]) -> Iterator[str]:
    for top in children("index"):
        yield f"\n## {titles[top]}\n"
        yield from (
            f"- [{titles[page]}]({page}.md)"
            for page in (top, *children(top))
            if twin(page) is not None
        )


def twin(page: str) -> str | None:
    """A page as Markdown; None for lists that only the site has."""
    if page.startswith("generated/api/"):
        return _api(page.removeprefix("generated/api/"))
    example = DOCS / "gallery" / f"{Path(page).name}.py"
    if page.startswith("generated/gallery/") and example.exists():
        return _example(example.read_text(encoding="utf-8"))
    source = DOCS / f"{page}.md"
    if not source.exists():
        return None
    text = source.read_text(encoding="utf-8")
    if not page.startswith("generated/"):
        text = led_inside(text, source.parent, source.parent)
    return plain_markdown(text)


def written_in(page: str) -> str | None:
    """The file of the repository in which a page is written, if there is one."""
    name = Path(page).name
    if page.startswith("generated/api/"):
        values = [public.value for public in documented_names() if public.full == name]
        module = inspect.getmodule(values[0] if values else import_module(name))
        found = Path(module.__file__) if module is not None and module.__file__ else None
    elif page.startswith("generated/project/"):
        found = next(ROOT / path for path, shown in PAGES.items() if shown == f"{name}.md")
    else:
        found = DOCS / "gallery" / f"{name}.py"
        found = found if page.startswith("generated/") else DOCS / f"{page}.md"
    if found is None or not found.is_file() or not found.is_relative_to(ROOT):
        return None
    inside = found.relative_to(ROOT)
    return None if inside.parts[0].startswith(".") else inside.as_posix()


def _example(code: str) -> str:
    _, text, code = code.split('"""', 2)
    title, _, words = text.strip().split("\n", 2)
    return f"# {title}\n\n{words.strip()}\n\n```python\n{code.strip()}\n```\n"


def _api(full: str) -> str | None:
    """The page of a module or a public name: signatures and docstrings, as `help` shows them."""
    for name in documented_names():
        if name.full == full:
            return f"# {full}\n\n" + "\n".join(_definitions(name))
    names = [name for name in public_names() if name.module == full]
    rows = [f"- [{name.name}]({name.full}.md)" for name in names]
    return f"# {full}\n\n" + "\n".join(rows) + "\n"


def _definitions(name: PublicName) -> Iterator[str]:
    value = name.value
    if not has_own_docstring(value):
        yield f"A constant or the name of a type: `{value!r:.200}`\n"
        return
    yield _definition(name.name, value)
    for key, member in vars(value).items() if inspect.isclass(value) else ():
        if key[0] != "_" and (inspect.isroutine(member) or isinstance(member, property)):
            yield _definition(f"{name.name}.{key}", getattr(value, key))


def _definition(name: str, value: object) -> str:
    try:
        signature = str(inspect.signature(value)) if callable(value) else ""
    except ValueError:  # of an exception
        signature = ""
    signature = re.sub(r"<factory>|<object object at 0x[0-9a-f]+>", "...", signature)
    return f"```text\n{name}{signature}\n\n{inspect.getdoc(value) or ''}\n```\n"
