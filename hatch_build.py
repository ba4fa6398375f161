"""Package metadata: project URLs and absolute links in the README, from one address."""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

# A Markdown link or image whose target is a file of the repository.
_RELATIVE = re.compile(r"(!?)\[([^\]]*)\]\((?![a-z]+:|#)([^)\s]+)\)")


class RepositoryLinks(MetadataHookInterface):
    """Set `urls` and `readme`; with no address, no URL is published and links stay as they are."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Fill in the dynamic fields of the project's metadata."""
        address = self.config["repository"].rstrip("/")
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["urls"] = urls(address)
        metadata["readme"] = {"content-type": "text/markdown", "text": absolute(text, address)}


def urls(address: str) -> dict[str, str]:
    """Addresses that a package index shows next to the project."""
    if not address:
        return {}
    return {
        "Source": address,
        "Documentation": f"{address}/tree/main/docs",
        "Changelog": f"{address}/blob/main/CHANGELOG.md",
        "Issues": f"{address}/issues",
    }


def absolute(text: str, address: str) -> str:
    """The text with links to files of the repository written out: an index has no such files."""
    if not address:
        return text

    def written_out(link: re.Match[str]) -> str:
        image, label, target = link.groups()
        kind = "raw" if image else "blob"
        return f"{image}[{label}]({address}/{kind}/main/{target})"

    return _RELATIVE.sub(written_out, text)
