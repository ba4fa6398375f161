"""Every page of the dashboard as pictures, 1280 and 390 pixels wide, light and dark.

    python -m benchmarks.dashboard_pictures FOLDER [--only PAGE ...] [--docs]

A store is filled by the service: a shop of two weeks whose users come and go, one whose guardrail
is broken, one in shadow mode, and one that is new. A folder that has a store keeps it.
--docs: replace the pictures of the docs.
"""

import argparse
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import numpy as np
from msgspec.structs import replace
from PIL import Image
from playwright.sync_api import Browser, sync_playwright
from tests.service.dashboard.test_browser import NAMES, served

from headstart.service import demo
from headstart.service.engine.service import Service
from headstart.service.messages import (
    BanditConfiguration,
    DecisionAnswer,
    DecisionRequest,
    Guardrail,
    RewardRequest,
)

NOW = 1_790_000_000.0
_DAYS, _STEPS, _VISITS = 14, 12, 60  # per day, per step
_WORLD = demo.SHOP.world(0, 600)
_DOCS = Path(__file__).parent.parent / "docs" / "figures"
# Of the docs: page, scheme and height.
_SHOWN = {
    "overview": ("overview", "light", 880),
    "items": ("items", "light", 960),
    "decision": ("decision", "light", 1290),
    "prior": ("prior", "dark", 790),
}
WIDTHS = {"wide": 1280, "phone": 390}
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")


class Clock:
    """A clock that the program moves."""

    now = NOW

    def __call__(self) -> float:
        return self.now


def configuration(**settings: object) -> BanditConfiguration:
    """The demo's bandit, with other settings."""
    base = BanditConfiguration(
        features=demo.SHOP.features.settled(items=_WORLD.items).plain(),
        control_share=0.2,
        exploration=0.04,
        reward_range=(0.0, 1.0),
        deadline_seconds=3_600.0,
        default_reward=0.0,
    )
    return replace(base, **settings)


def fill(service: Service, clock: Clock, name: str, wanted: BanditConfiguration, days: int) -> None:
    """Days of visits; every third click is followed by a purchase, and some of those go back."""
    rng = np.random.default_rng(0)
    visitors = demo.Visitors(world=_WORLD, rng=rng, prefix="guest-")
    clock.now = NOW - 86_400.0 * days
    service.put_bandit(name, wanted)
    service.put_items(name, demo.items(_WORLD))
    ids = [item.id for item in demo.items(_WORLD)]
    step = 86_400.0 / _STEPS
    for number in range(days * _STEPS):
        clock.now = NOW - 86_400.0 * days + (number + 0.5) * step
        visits = visitors.next(_VISITS)
        requests = [request for _, request in visits]
        if wanted.shadow:
            requests = [_own(request, ids, rng) for request in requests]
        answers = service.decide(name, requests).result()
        shown = [
            (visit, answer)
            for (visit, _), answer in zip(visits, answers, strict=True)
            if isinstance(answer, DecisionAnswer)
        ]
        clicks = visitors.clicks(shown, clock.now)
        warm = {answer.id for _, answer in shown if not answer.control}
        if wanted.guardrails:
            clicks = [_bought(click, click.decision in warm, rng) for click in clicks]
        service.reward(name, clicks).result()
        if number % 6 == 0:
            service.refresh(name)
    clock.now = NOW


def _own(request: DecisionRequest, ids: list[str], rng: np.random.Generator) -> DecisionRequest:
    return replace(request, own=ids[rng.integers(len(ids))], own_propensity=1.0 / len(ids))


def _bought(click: RewardRequest, warm: bool, rng: np.random.Generator) -> RewardRequest:
    """A click with what it brought; warm tasks sell more that comes back."""
    revenue = float(rng.gamma(2.0, 12.0)) if rng.random() < 0.33 else 0.0
    refund = float(rng.random() < (0.45 if warm else 0.05))
    return replace(click, metrics={"revenue": round(revenue, 2), "refund": refund})


def fill_all(service: Service, clock: Clock) -> None:
    """The bandits of the pictures."""
    guardrails = [
        Guardrail(name="refund", worse="higher", margin=0.05, pause=True),
        Guardrail(name="revenue", worse="lower", margin=2.0),
    ]
    fill(service, clock, "guarded", configuration(guardrails=guardrails), 5)
    fill(service, clock, "shadow", configuration(shadow=True, control_share=0.0), 5)
    service.put_bandit("new", configuration(control_share=0.0))
    fill(service, clock, "shop", configuration(), _DAYS)


def pages(service: Service) -> dict[str, str]:
    """The addresses of all pages by their names."""
    with service.database.reading() as connection:
        latest = {
            name: connection.exec_driver_sql(
                "SELECT d.id, t.name FROM decisions d JOIN tasks t ON t.id = d.task JOIN bandits b "
                f"ON b.id = d.bandit WHERE b.name = '{name}' AND d.status = 1 AND d.value > 0 "
                "ORDER BY t.control, d.id DESC LIMIT 1"
            ).one()
            for name in ("shop", "guarded", "shadow")
        }
    return {
        "overview": "/?bandit=shop&window=week",
        "overview-guarded": "/?bandit=guarded&window=day",
        "overview-shadow": "/?bandit=shadow&window=day",
        "overview-new": "/?bandit=new",
        "prior": "/prior?bandit=shop",
        "tasks": "/tasks?bandit=shop",
        "task": f"/task?bandit=shop&task={latest['shop'].name}",
        "decisions": "/decisions?bandit=shop",
        "decision": f"/decision?bandit=shop&id={latest['shop'].id}",
        "decision-parts": f"/decision?bandit=guarded&id={latest['guarded'].id}",
        "decision-shadow": f"/decision?bandit=shadow&id={latest['shadow'].id}",
        "items": "/items?bandit=shop",
        "items-empty": "/items?bandit=new",
        "problem": "/task?bandit=shop&task=none",
    }


@contextmanager
def chromium() -> Iterator[Browser]:
    """The browser of the machine."""
    path = next(path for path in map(shutil.which, NAMES) if path)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


def take(browser: Browser, address: str, paths: dict[str, str], folder: Path) -> None:
    """Every page at every width and in both schemes."""
    folder.mkdir(parents=True, exist_ok=True)
    for size, width in WIDTHS.items():
        for scheme in SCHEMES:
            context = browser.new_context(
                base_url=address, viewport={"width": width, "height": 900}, color_scheme=scheme
            )
            page = context.new_page()
            for name, path in paths.items():
                page.goto(path)
                page.screenshot(path=folder / f"{name}-{size}-{scheme}.png", full_page=True)
                wide = page.evaluate("document.documentElement.scrollWidth")
                if wide > width:
                    print(f"{path} is {wide} pixels wide at {width}")
            context.close()


def draw_docs(folder: Path) -> None:
    """The pictures of the docs: the upper parts of some pages, with few colours."""
    for name, (page, scheme, height) in _SHOWN.items():
        picture = Image.open(folder / f"{page}-wide-{scheme}.png").convert("RGB")
        part = picture.crop((0, 0, picture.width, min(height, picture.height)))
        path = _DOCS / f"service-{name}.png"
        part.quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(
            path, optimize=True
        )
        print(path.name, path.stat().st_size)


def main() -> None:
    """Fill a store and take the pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--docs", action="store_true")
    given = parser.parse_args()
    store = given.folder / "store.sqlite"
    given.folder.mkdir(parents=True, exist_ok=True)
    clock, new = Clock(), not store.exists()
    service = Service.open(store, clock=clock)
    with tempfile.TemporaryDirectory() as uploads, served(service, Path(uploads)) as address:
        if new:
            fill_all(service, clock)
        paths = pages(service)
        if given.only:
            paths = {name: path for name, path in paths.items() if name in given.only}
        with chromium() as browser:
            take(browser, address, paths, given.folder)
    if given.docs:
        draw_docs(given.folder)


if __name__ == "__main__":
    main()
