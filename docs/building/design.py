"""The picture of the design: the packages, who imports whom, and three flows of calls, as SVG.

`python -m docs.building.design` draws it. Arrows follow from the imports of src/headstart; tests
ask that the picture is current and that the flows are what happens.
"""

import ast
from collections.abc import Iterator
from functools import cache
from html import escape
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "headstart"
PICTURE = ROOT / "docs" / "figures" / "design.svg"


class Package(NamedTuple):
    """A package or module: where it is in the picture, in columns and rows, and what it has."""

    column: float
    row: int
    has: str


class Step(NamedTuple):
    """A call of a flow; deeper ones are made by the nearest one above that is less deep."""

    depth: int
    call: str
    does: str


PACKAGES = {
    "cli": Package(2.0, 0, "one file per command"),
    "service": Package(0.5, 1, "decisions over HTTP"),
    "paper": Package(2.3, 1, "the paper's claims"),
    "diagnosis": Package(3.6, 1, "does a warm start pay?"),
    "trials": Package(4.9, 1, "… on one's own log?"),
    "warm_up": Package(0.5, 2, "compiles everything"),
    "plotting": Package(2.6, 2, "figures and reports"),
    "live": Package(0.8, 3, "MetaBandit"),
    "studies": Package(2.6, 3, "experiments as data"),
    "learners": Package(3.9, 4, "methods by name"),
    "logs": Package(0.0, 5, "past decisions"),
    "simulation": Package(2.6, 5, "simulate, evaluate"),
    "theory": Package(4.0, 5, "the bounds in numbers"),
    "environments": Package(1.0, 6, "where tasks come from"),
    "policies": Package(2.2, 6, "how to choose"),
    "priors": Package(3.4, 6, "where to start"),
    "datasets": Package(0.6, 7, "tables of ratings"),
    "interfaces": Package(3.0, 7, "the four seams"),
    "features": Package(0.0, 8, "attributes to numbers"),
    "core": Package(2.1, 8, "the algebra"),
    "specs": Package(1.8, 7, "objects as data"),
    "kernels": Package(1.2, 9, "compiled loops"),
}
# What everything imports, drawn as one bar without arrows.
SHARED = (
    *("arrays", "atomic", "checks", "frames", "habits"),
    *("intervals", "own_code", "processes", "progress"),
)

FLOWS = {
    "Simulate": (
        Step(0, "simulation.comparison.simulate", "plays tasks with several agents"),
        Step(1, "environments.synthetic.PreparedSynthetic.sample", "draws a task with its rewards"),
        Step(1, "simulation.learner.Learner.play", "plays one task"),
        Step(2, "priors.pooled.Pooled.prior", "where the task starts"),
        Step(2, "core.running.RunningEstimate.read", "estimates of the arms"),
        Step(2, "policies.oful.OFUL.scores", "a score for each arm"),
        Step(2, "simulation.rounds.Rounds.choose_largest", "choice and reward"),
        Step(2, "core.running.RunningEstimate.learn_choices", "learns the reward"),
        Step(1, "simulation.learner.Learner.learn", "the task is complete"),
        Step(2, "priors.pooled.Pooled.absorb", "the memory grows"),
    ),
    "Decide and reward": (
        Step(0, "live.bandit.MetaBandit.decide", "under the lock"),
        Step(1, "live._chooser.Chooser.decide", "one task, one choice"),
        Step(2, "live._memory.Memory.catch_up", "a newer prior, if one is due"),
        Step(2, "live._scores.Scores.radius", "how much to explore"),
        Step(3, "policies.bayes_ucb.BayesUCB.radius", "the policy says"),
        Step(0, "live.bandit.MetaBandit.reward", "any time later, once"),
        Step(1, "live._rewards.Rewards.pay", "finds the decision"),
        Step(2, "live._rewards.Rewards._pay_in_one_call", "learns, in one compiled call"),
    ),
    "A service request": (
        Step(0, "service.http.app.Application.__call__", "HTTP"),
        Step(1, "service.http.routes.decide", "the route"),
        Step(2, "service.engine.service.Service.decide", "a future"),
        Step(3, "service.engine.commit.Committer.submit", "waits for its turn"),
        Step(0, "service.engine.commit.Committer._commit", "the thread that writes"),
        Step(1, "service.store.database.Database.writing", "one transaction for many"),
        Step(1, "service.engine.decisions.decide", "all decisions of a bandit"),
        Step(2, "live.stored.tasks.StoredTasks.choose", "live use, on stored rows"),
        Step(1, "service.engine.transaction.Transaction.end", "after the commit: answers"),
    ),
}


@cache
def imports() -> dict[str, set[str]]:
    """Who imports whom, by the first name below headstart."""
    names = packages()
    found: dict[str, set[str]] = {name: set() for name in names}
    for path in SOURCE.rglob("*.py"):
        importer = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        if importer in found:
            tree = ast.parse(path.read_text(encoding="utf-8"))
            found[importer] |= set(_imported(tree)) & names - {importer}
    return found


def packages() -> set[str]:
    """The packages and modules directly below headstart."""
    paths = (path for path in SOURCE.iterdir() if path.is_dir() or path.suffix == ".py")
    return {path.stem for path in paths if not path.name.startswith("_")}


def _imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "headstart":
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("headstart."):
            yield (node.module or "").split(".")[1]
        elif isinstance(node, ast.Import):
            names = (alias.name.split(".") for alias in node.names)
            yield from (name[1] for name in names if name[0] == "headstart" and len(name) > 1)


def arrows() -> list[tuple[str, str]]:
    """The imports between packages of the picture that no longer way of imports explains."""
    direct = {name: found - set(SHARED) for name, found in imports().items() if name in PACKAGES}

    def reached(name: str) -> set[str]:
        return direct[name].union(*(reached(below) for below in direct[name]))

    return sorted(
        (name, below)
        for name, found in direct.items()
        for below in found
        if not any(below in reached(other) for other in found - {below})
    )


WIDTH, MARGIN = 940, 16
BOX, HEIGHT, ROW = 152, 42, 66
STEP, INDENT, GAP = 34, 14, 14
_STYLE = """
@media (prefers-color-scheme: dark) { svg {
  --pst-color-background: #14181e; --pst-color-surface: #222832; --pst-color-border: #48566b;
  --pst-color-text-base: #ced6dd; --pst-color-text-muted: #9ca4af; --pst-color-primary: #6cb8e8;
} }"""
_COLOURS = {
    "page": "var(--pst-color-background, #ffffff)",
    "box": "var(--pst-color-surface, #f3f4f5)",
    "line": "var(--pst-color-border, #c9c9c9)",
    "text": "var(--pst-color-text-base, #222832)",
    "muted": "var(--pst-color-text-muted, #48566b)",
    "accent": "var(--pst-color-primary, #00598c)",
}


def picture(*, alone: bool = True) -> str:
    """The SVG: with colours of its own, or within a page with the colours of the page."""
    tree, flows = list(_tree()), []
    top = MARGIN + 10 * ROW + 30
    for i, (title, steps) in enumerate(FLOWS.items()):
        flows += list(_flow(title, steps, MARGIN + i * (_flow_width() + GAP), top))
    height = top + 40 + STEP * max(map(len, FLOWS.values())) + MARGIN
    style = f"<style>{_STYLE}</style>" if alone else ""
    body = "\n".join([*tree, *flows])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        'font-family="system-ui, sans-serif" class="design">'
        f"<title>The packages of headstart and three flows of calls</title>{style}\n"
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        f'markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="{_COLOURS["muted"]}"/>'
        f'</marker></defs>\n<rect width="{WIDTH}" height="{height}" fill="{_COLOURS["page"]}"/>\n'
        f"{body}\n</svg>\n"
    )


def _flow_width() -> int:
    return (WIDTH - 2 * MARGIN - 2 * GAP) // 3


def _place(package: Package) -> tuple[float, float]:
    """The left upper corner of a box."""
    widest = max(one.column for one in PACKAGES.values())
    step = (WIDTH - 2 * MARGIN - BOX) / widest
    return MARGIN + package.column * step, MARGIN + package.row * ROW


def _tree() -> Iterator[str]:
    for above, below in arrows():
        (x1, y1), (x2, y2) = _place(PACKAGES[above]), _place(PACKAGES[below])
        x1, y1, x2 = x1 + BOX / 2, y1 + HEIGHT, x2 + BOX / 2
        bend = min(40.0, (y2 - y1) / 2)
        yield (
            f'<path d="M{x1:.0f} {y1:.0f}C{x1:.0f} {y1 + bend:.0f} {x2:.0f} {y2 - bend:.0f} '
            f'{x2:.0f} {y2 - 1:.0f}" fill="none" stroke="{_COLOURS["muted"]}" '
            'stroke-opacity="0.55" marker-end="url(#tip)"/>'
        )
    for name, package in PACKAGES.items():
        x, y = _place(package)
        yield from _box(x, y, BOX, name, package.has)
    y = MARGIN + 9 * ROW
    yield from _box(MARGIN, y, WIDTH - 2 * MARGIN, ", ".join(SHARED), "what everything shares")


def _box(x: float, y: float, width: float, name: str, has: str) -> Iterator[str]:
    yield (
        f'<rect x="{x:.0f}" y="{y:.0f}" width="{width:.0f}" height="{HEIGHT}" rx="5" '
        f'fill="{_COLOURS["box"]}" stroke="{_COLOURS["line"]}"/>'
    )
    middle = x + width / 2
    yield _text(middle, y + 17, name, "text", 13, 'font-weight="600" text-anchor="middle"')
    yield _text(middle, y + 33, has, "muted", 11, 'text-anchor="middle"')


def _flow(title: str, steps: tuple[Step, ...], x: float, y: float) -> Iterator[str]:
    yield _text(x, y + 14, title, "accent", 15, 'font-weight="600"')
    for i, step in enumerate(steps):
        left, top = x + INDENT * step.depth, y + 30 + i * STEP
        yield (
            f'<path d="M{left:.0f} {top}v{STEP - 6}" stroke="{_COLOURS["accent"]}" '
            'stroke-width="2"/>'
        )
        *_, owner, name = ("", *step.call.split("."))
        shown = f"{owner}.{name}" if owner[:1].isupper() else name
        package = step.call.split(".")[0]
        yield _text(left + 7, top + 12, shown, "text", 12, 'font-weight="600"')
        yield _text(left + 7, top + 26, f"{package}: {step.does}", "muted", 11, "")


def _text(x: float, y: float, text: str, colour: str, size: int, more: str) -> str:
    fill = _COLOURS[colour]
    shown = escape(text, quote=False)
    return f'<text x="{x:.0f}" y="{y:.0f}" font-size="{size}" fill="{fill}" {more}>{shown}</text>'


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
