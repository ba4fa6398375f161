"""Pages that lie outside of docs/: shown in the site too, and links to them led there."""

import os
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PROJECT = DOCS / "generated" / "project"

# By where they are in the repository.
PAGES = {
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "benchmarks/league.md": "league.md",
    "benchmarks/people.md": "people.md",
    "benchmarks/shops.md": "shops.md",
    "benchmarks/speed.md": "speed.md",
    "benchmarks/live.md": "speed-of-live-use.md",
    "benchmarks/service.md": "the-service-under-load.md",
}

_LINK = re.compile(r"(?P<mark>!?)\[(?P<text>[^\]]*)\]\((?P<target>[^)\s#]+)(?P<anchor>#[^)\s]*)?\)")


def project_pages() -> dict[str, str]:
    """The pages of the project by name, with links as the site has them."""
    return {
        name: led_inside((ROOT / path).read_text(encoding="utf-8"), (ROOT / path).parent, PROJECT)
        for path, name in PAGES.items()
    }


def led_inside(page: str, lies_in: Path, shown_in: Path) -> str:
    """A page with its links as they are where it is shown.

    A link to a file that the site does not have, such as source code, becomes its words.
    """

    def led(found: re.Match[str]) -> str:
        target, text = found["target"], found["text"]
        if re.match(r"[a-z]+:", target):
            return found[0]
        path = (lies_in / target).resolve()
        if not path.is_relative_to(ROOT):
            return found[0]
        inside = path.relative_to(ROOT).as_posix()
        if inside in PAGES:
            path = PROJECT / PAGES[inside]
        elif not path.is_relative_to(DOCS) and not found["mark"]:
            return text
        there = Path(os.path.relpath(path, shown_in)).as_posix()
        return f"{found['mark']}[{text}]({there}{found['anchor'] or ''})"

    return _LINK.sub(led, page)
