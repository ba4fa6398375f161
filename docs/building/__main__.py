"""`make docs`: build the site, with warnings as errors, and check what was built."""

import shutil
import subprocess
import sys
from pathlib import Path

from docs.building.checks import problems

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SITE = DOCS / "_build" / "html"


def remove_stale_gallery(sources: Path, pages: Path) -> None:
    """Remove the gallery's pages if one has no source any more: Sphinx-Gallery keeps it."""
    known = {path.stem for path in sources.glob("*.py")}
    if {path.stem for path in pages.glob("*.py")} - known:
        shutil.rmtree(pages)


def main() -> int:
    """Build and check; returns the exit status."""
    remove_stale_gallery(DOCS / "gallery", DOCS / "generated" / "gallery")
    shutil.rmtree(SITE, ignore_errors=True)  # pages that are gone
    command = [sys.executable, "-m", "sphinx", "-b", "html", "-j", "2", "-W", "--keep-going", "-q"]
    built = subprocess.run(
        [*command, "-d", str(DOCS / "_build" / "doctrees"), str(DOCS), str(SITE)],
        cwd=ROOT,
        check=False,
    )
    if built.returncode:
        return built.returncode
    found = problems(SITE)
    sys.stderr.writelines(f"{problem}\n" for problem in found)
    if not found:
        sys.stdout.write(f"The site is in {SITE.relative_to(ROOT)}: open index.html.\n")
    return min(len(found), 1)


if __name__ == "__main__":
    sys.exit(main())
