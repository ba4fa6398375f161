"""Checks of a built site: its links, what it would load from elsewhere, and its names."""

import re
import zlib
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from docs.building.public import documented_names

# What a browser fetches on its own when it opens a page; a link that a reader may follow is not.
_LOADED = {
    "script": ("src",),
    "img": ("src", "srcset"),
    "source": ("src", "srcset"),
    "iframe": ("src",),
    "video": ("src", "poster"),
    "audio": ("src",),
    "embed": ("src",),
    "object": ("data",),
    "link": ("href",),
    "image": ("href", "xlink:href"),
    "use": ("href", "xlink:href"),
}
_RELATIONS = {"canonical", "author", "license", "next", "prev", "search", "index"}
_STYLE_URL = re.compile(r"(?:url\(\s*['\"]?|@import\s+['\"])((?:https?:)?//[^)'\"]+)")


class Page(HTMLParser):
    """The anchors of a page, its links, and what it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(text)
        self.loaded += _STYLE_URL.findall(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag defines, links to and loads."""
        given = {key: value or "" for key, value in attrs}
        self.anchors |= {given[key] for key in ("id", "name") if key in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag == "link" and set(given.get("rel", "").split()) & _RELATIONS:
            return
        for key in _LOADED.get(tag, ()):
            for part in given.get(key, "").split(",") if key == "srcset" else [given.get(key, "")]:
                self.loaded += part.split()[:1]


def problems(site: Path) -> list[str]:
    """All that is wrong with a built site, a sentence each."""
    # What is below _static is the theme's, templates among it, and no page of its own.
    pages = sorted(page for page in site.rglob("*.html") if "_static" not in page.parts)
    if not pages:
        return [f"{site} has no page"]
    found = [problem for page in pages for problem in _page_problems(site, page)]
    for sheet in sorted(site.rglob("*.css")):
        urls = _STYLE_URL.findall(sheet.read_text(encoding="utf-8"))
        found += [f"{sheet.relative_to(site)} loads {url}" for url in urls]
    return found + [f"{name} has no page" for name in missing_names(site)]


def _page_problems(site: Path, path: Path) -> Iterator[str]:
    page, where = _read(path), path.relative_to(site)
    for url in page.loaded:
        if urlsplit(url).scheme in {"http", "https"} or url.startswith("//"):
            yield f"{where} loads {url}"
        elif not url.startswith(("data:", "#")) and not _target(path, url).exists():
            yield f"{where} loads {url}, which is not there"
    for link in page.links:
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            continue
        target = _target(path, link)
        if not target.is_file():
            yield f"{where} links to {link}, which is not there"
        elif parts.fragment and not _has_place(target, unquote(parts.fragment)):
            yield f"{where} links to {link}, which has no such place"


def _has_place(target: Path, fragment: str) -> bool:
    return target.suffix != ".html" or fragment in _read(target).anchors


def _target(page: Path, url: str) -> Path:
    path = unquote(urlsplit(url).path)
    return (page.parent / path).resolve() if path else page.resolve()


@cache
def _read(path: Path) -> Page:
    return Page(path.read_text(encoding="utf-8"))


def missing_names(site: Path) -> list[str]:
    """The public names that the site's inventory does not know."""
    raw = (site / "objects.inv").read_bytes()
    text = zlib.decompress(raw.split(b"\n", 4)[4]).decode()
    known = {line.split(" ", 1)[0] for line in text.splitlines()}
    return [name.full for name in documented_names() if name.full not in known]
