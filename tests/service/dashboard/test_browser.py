"""A real browser walks the pages."""

import re
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import uvicorn
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    expect,
    sync_playwright,
)
from tests.needs import missing
from tests.waiting import running, until

from headstart.service import demo
from headstart.service.dashboard import application
from headstart.service.engine.service import Service
from headstart.service.http.app import Application
from headstart.service.jobs.jobs import Jobs
from headstart.service.messages import (
    BanditConfiguration,
    DecisionAnswer,
    DecisionRequest,
    Item,
    RewardRequest,
)
from headstart.service.store.keys import create_key

pytestmark = pytest.mark.slow

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
TABS = ("Overview", "Prior", "Tasks", "Decisions", "Items")
PHONE = {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium, as the machine has it."""
    found = next((path for path in map(shutil.which, NAMES) if path), None)
    if found is None:
        missing("browser", "no Chromium here: install the package chromium")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield started
        started.close()


@contextmanager
def served(service: Service, uploads: Path) -> Iterator[str]:
    """The address of a server with the dashboard."""
    jobs = Jobs(service, uploads=uploads)
    app = Application(service, jobs=jobs, pages=application(service, jobs), log_requests=False)
    config = uvicorn.Config(app, port=0, log_level="error", lifespan="on", ws="none")
    server = uvicorn.Server(config)

    def stop() -> None:
        server.should_exit = True

    with running(server.run, stop) as thread:
        until(lambda: server.started and service.ready, by=thread)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A service whose customers have come and gone."""
    folder = tmp_path_factory.mktemp("browser")
    service = Service.open(folder / "store.sqlite")
    with served(service, folder) as found, pytest.MonkeyPatch.context() as patch:
        patch.setattr(demo, "_QUICK_STEPS", 30)
        stop = threading.Event()
        patch.setattr(demo, "_STEP_SECONDS", 60.0)
        with running(lambda: demo.run_demo(service, stop), stop.set) as users:
            until(lambda: (service.status()["rows"] or 0) >= 30 * 50, by=users)
        yield found


class Watched:
    """A page, and what it did that it must not."""

    def __init__(self, context: BrowserContext, address: str) -> None:
        self.page: Page = context.new_page()
        self.faults: list[str] = []
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on(
            "request",
            lambda r: None if r.url.startswith(address) else self.faults.append(r.url),
        )

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.faults.append(message.text)


@contextmanager
def opened(browser: Browser, address: str, **given: object) -> Iterator[Page]:
    """A page that has no errors and asks for nothing from elsewhere."""
    context = browser.new_context(base_url=address, **given)  # type: ignore[arg-type]
    watched = Watched(context, address)
    watched.page.goto("/")
    yield watched.page
    context.close()
    assert watched.faults == []


def width(page: Page) -> int:
    return int(page.evaluate("document.documentElement.scrollWidth"))


def background(page: Page) -> str:
    return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))


def test_every_page_is_shown(browser: Browser, address: str) -> None:
    with opened(browser, address) as page:
        for tab in TABS:
            page.get_by_role("navigation").get_by_role("link", name=tab, exact=True).click()
            current = page.locator(".tabs [aria-current]")
            expect(current).to_have_text(tab)
            expect(page.locator("h1").first).to_be_visible()
        page.goto("/")
        expect(page.locator(".sentence")).to_contain_text("per round")
        expect(page.get_by_role("img", name="Mean reward by round of a task")).to_be_visible()
        page.locator("summary").first.click()
        expect(page.get_by_role("row", name="Round 1 ").first).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_scrolls_down_only(browser: Browser, address: str, scheme: str) -> None:
    with opened(browser, address, viewport=PHONE, color_scheme=scheme) as page:
        for path in ("/", "/prior", "/tasks", "/decisions", "/items"):
            page.goto(path)
            assert width(page) <= PHONE["width"], path
        page.goto("/tasks")
        page.locator("table.rows tbody a").first.click()
        expect(page.locator("#estimate")).to_be_visible()
        assert width(page) <= PHONE["width"]
        page.goto("/decisions")
        page.locator("table.rows tbody a").first.click()
        expect(page.locator("#why")).to_be_visible()
        assert width(page) <= PHONE["width"]


def test_dark_is_the_system_s_or_chosen(browser: Browser, address: str) -> None:
    with opened(browser, address, color_scheme="dark") as page:
        dark = background(page)
        page.get_by_role("button", name="Use light colours").click()
        light = background(page)
        assert light != dark
        page.reload()
        assert background(page) == light


def test_tasks_are_searched_and_erased(browser: Browser, address: str) -> None:
    with opened(browser, address) as page:
        page.goto("/tasks")
        name = page.locator("table.rows tbody a").first.inner_text()
        page.get_by_label("Name begins with").fill(name)
        page.get_by_role("button", name="Search").click()
        expect(page.locator("table.rows tbody a")).to_have_text([name])
        page.get_by_role("link", name=name).click()
        page.get_by_text("Erase this task").click()
        page.locator("#confirmed").fill(name)
        page.get_by_role("button", name="Erase for ever").click()
        expect(page.locator(".notice")).to_contain_text("erased")
        page.get_by_label("Name begins with").fill(name)
        page.get_by_role("button", name="Search").click()
        expect(page.locator(".nothing")).to_contain_text("No task has a name")


def test_a_decision_says_why(browser: Browser, address: str) -> None:
    with opened(browser, address) as page:
        widest = 0.0
        for row in range(10):  # of control tasks without a click yet all contributions are 0
            page.goto("/decisions?status=paid")
            page.locator("table.rows tbody a").nth(row).click()
            # One row per column that is not 0 for this item and user.
            expect(page.locator("table.bars tbody tr:not(.group)")).not_to_have_count(0)
            bars = page.locator("table.bars rect.fill")
            drawn = bars.evaluate_all("all => all.map(bar => bar.getBoundingClientRect().width)")
            widest = max(drawn, default=0.0)
            if widest > 30:
                break
        assert widest > 30
        expect(page.get_by_text("Propensity")).to_be_visible()
        page.get_by_role("link", name=re.compile("^guest-")).click()
        expect(page.locator("#estimate")).to_be_visible()


def test_items_are_sorted_and_searched(browser: Browser, address: str) -> None:
    with opened(browser, address) as page:
        page.goto("/items")
        names = page.locator("table.rows tbody th")
        page.get_by_role("link", name="Item", exact=True).click()
        expect(names.first).to_have_text("item-00")
        page.get_by_role("link", name="Item", exact=True).click()
        expect(names.first).to_have_text("item-39")
        page.get_by_label("Item contains").fill("item-2")
        page.get_by_role("button", name="Show").click()
        expect(names).to_have_count(10)


def test_the_page_refreshes_itself(browser: Browser, address: str) -> None:
    with opened(browser, address) as page:
        page.goto("/tasks")
        with page.expect_response(lambda r: "x-headstart-fragment" in r.request.headers) as found:
            pass
        assert found.value.ok
        page.get_by_role("button", name="Live").click()
        expect(page.locator("#live-state")).to_have_text("Paused")


def test_login_logout_and_tokens(browser: Browser, tmp_path: Path) -> None:
    service = Service.open(tmp_path / "store.sqlite")
    key = create_key(service.database, name="ops", role="admin", now=time.time())
    with served(service, tmp_path) as address:
        context = browser.new_context(base_url=address)
        page = context.new_page()
        page.goto("/tasks")
        page.get_by_label("Key").fill("hs_wrong")
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_role("alert")).to_contain_text("not one of the service")
        page.get_by_label("Key").fill(key)
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_role("heading", name="No bandit yet")).to_be_visible()
        assert page.url.endswith("/tasks")
        refused = context.request.post(
            f"{address}/task/erase", form={"bandit": "b", "task": "t", "confirmed": "t"}
        )
        assert refused.status == 403
        page.get_by_role("button", name="Log out").click()
        expect(page.get_by_role("heading", name="Log in")).to_be_visible()
        assert page.goto("/").status == 401  # type: ignore[union-attr]
        context.close()


def test_long_names_break_no_page(browser: Browser, tmp_path: Path) -> None:
    """Names of 200 characters; on a phone, the mean reward of an item is in sight."""
    names = [letter * 200 for letter in "abcd"]
    service = Service.open(tmp_path / "store.sqlite")
    with served(service, tmp_path) as address:
        given = BanditConfiguration(feature_names=names[:2], control_share=0.1)
        service.put_bandit(names[0], given)
        service.put_items(names[0], [Item(id=name, features=[1.0, 0.5]) for name in names])
        rows = [DecisionRequest(task=f"{n}{names[1]}"[:200]) for n in range(6)]
        answers = service.decide(names[0], rows).result(60)
        made = [answer for answer in answers if isinstance(answer, DecisionAnswer)]
        rewards = [RewardRequest(decision=each.id, value=1.0) for each in made]
        service.reward(names[0], rewards).result(60)
        service.refresh(names[0])
        task, decision = rows[0].task, made[0].id
        paths = ["/", "/prior", "/tasks", "/decisions", "/items"]
        paths += [f"/task?task={task}", f"/decision?id={decision}"]
        for size in ({"width": 1280, "height": 900}, PHONE):
            with opened(browser, address, viewport=size) as page:
                for path in paths:
                    page.goto(path)
                    assert width(page) == size["width"], path
                page.goto("/items")
                box = page.locator("tbody tr").first.locator("td:visible").nth(2).bounding_box()
                assert box is not None
                assert box["x"] + box["width"] <= size["width"]


def test_a_long_name_is_cut_in_the_chooser_and_whole_in_its_title(
    browser: Browser, tmp_path: Path
) -> None:
    name = "a-long-name-" * 16
    service = Service.open(tmp_path / "store.sqlite")
    with served(service, tmp_path) as address:
        service.put_bandit(name, BanditConfiguration(dimension=2))
        for size in ({"width": 1280, "height": 900}, PHONE):
            with opened(browser, address, viewport=size) as page:
                chooser = page.locator("#bandit")
                expect(chooser).to_have_attribute("title", name)
                box = chooser.bounding_box()
                assert box is not None
                assert box["width"] <= min(0.45 * size["width"], 320)
                expect(chooser).to_have_css("text-overflow", "ellipsis")
                assert width(page) == size["width"]
