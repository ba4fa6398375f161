"""`make docs`: build the site, with warnings as errors, and check what was built."""

import shutil
import subprocess
import sys
from pathlib import Path

from docs.building.checks import problems

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SITE = DOCS / "_build" / "html"


def main() -> int:
    """Build and check; returns the exit status."""
    command = [sys.executable, "-m", "sphinx", "-b", "html", "-W", "--keep-going", "-q"]
    built = subprocess.run(
        [*command, "-d", str(DOCS / "_build" / "doctrees"), str(DOCS), str(SITE)],
        cwd=ROOT,
        check=False,
    )
    if built.returncode:
        return built.returncode
    shutil.copytree(DOCS / "generated" / "notebooks", SITE / "notebooks", dirs_exist_ok=True)
    found = problems(SITE)
    sys.stderr.writelines(f"{problem}\n" for problem in found)
    if not found:
        sys.stdout.write(f"The site is in {SITE.relative_to(ROOT)}: open index.html.\n")
    return min(len(found), 1)


if __name__ == "__main__":
    sys.exit(main())
