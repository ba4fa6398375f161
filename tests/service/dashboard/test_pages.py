"""The pages as HTML: what they say, what they escape, and what their forms do."""

import re
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.service.dashboard.client import PageClient
from tests.service.dashboard.conftest import pages_of
from tests.service.shop import BANDIT, FEATURES, Shop, arms, configuration, decided, fill, opened
from tests.waiting import until

from headstart.service.dashboard import application
from headstart.service.dashboard.prior import coefficients
from headstart.service.messages import (
    BanditConfiguration,
    Item,
    ObservationAnswer,
    ObservationRequest,
    PriorVersion,
    RewardRequest,
)

pytestmark = pytest.mark.slow

PAGES = [
    "/",
    "/prior",
    "/tasks",
    "/decisions",
    "/items",
]
ATTACK = "<script>alert('\"x\"')</script>"


def text_of(client: PageClient, path: str, code: int = 200) -> str:
    answer = client.get(path)
    assert answer.status_code == code
    return answer.text


def test_an_empty_store_says_what_to_do(tmp_path: Path) -> None:
    with opened(tmp_path / "store.sqlite", tmp_path) as shop:
        client = pages_of(shop)
        for page in PAGES:
            assert "PUT http://testserver/v1/bandits/shop" in text_of(client, page)


def test_pages_work_on_each_store(store: str, tmp_path: Path) -> None:
    with opened(store, tmp_path) as shop:
        fill(shop, n_tasks=10)
        client = pages_of(shop)
        for page in (*PAGES, "/task?task=user-0003", "/tasks?prefix=user", "/?window=week"):
            assert 'value="coffee" selected' in text_of(client, page)


def test_overview_says_whether_it_pays(client: PageClient, shop: Shop) -> None:
    page = text_of(client, "/?window=day")
    assert re.search(r"earn 0\.\d+ more per round than the control, 95 % interval", page)
    shop.service.put_bandit("new", configuration())
    assert "Too little data" in text_of(client, "/?bandit=new")


def test_a_decision_is_paid_or_waits_or_has_expired(tmp_path: Path) -> None:
    """A default reward is a reward: the decision that got it has expired all the same."""
    with opened(tmp_path / "store.sqlite", tmp_path) as shop:
        settings = BanditConfiguration(
            feature_names=FEATURES, deadline_seconds=3_600.0, default_reward=0.25
        )
        shop.service.put_bandit("late", settings)
        shop.service.put_items("late", arms())
        answers = decided(shop.service, "late", [f"user-{i}" for i in range(10)])
        paid = [RewardRequest(decision=answer.id, value=1.0) for answer in answers[:6]]
        shop.service.reward("late", paid).result(60)
        assert "counts as its default reward, 0.25" in text_of(pages_of(shop), "/?bandit=late")
        task = text_of(pages_of(shop), "/task?bandit=late&task=user-9")
        assert "what waits counts as 0.25" in task
        shop.clock.now += 3_700.0
        until(lambda: shop.service.decision("late", answers[-1].id).status == "expired")
        page = re.sub(r"<[^>]+>|\s+", " ", text_of(pages_of(shop), "/?bandit=late&window=day"))
    page = re.sub(r" +", " ", page)
    assert "Decisions 10" in page
    assert "Rewards 10" in page
    assert "Pending 0 none waits" in page
    assert "Expired 4" in page


def test_a_bandit_without_control_says_so(client: PageClient, shop: Shop) -> None:
    shop.service.put_bandit("cold", configuration(control_share=0.0))
    assert "no task starts cold" in text_of(client, "/?bandit=cold")
    for path in PAGES:
        text_of(client, f"{path}?bandit=cold")


@pytest.mark.parametrize("page", [*PAGES, "/task?task=user-0003", "/login"])
def test_nothing_is_inline_or_from_elsewhere(reader: PageClient, page: str) -> None:
    html = text_of(reader, page)
    assert " style=" not in html
    assert not re.search(r"<script(?![^>]*src=\"/static/)", html)
    assert not re.search(r"\son\w+=", html)
    assert not re.search(r"(src|href)=\"(?!/|#)", html)


def test_names_are_escaped(client: PageClient, shop: Shop) -> None:
    shop.service.put_bandit(ATTACK, BanditConfiguration(feature_names=[ATTACK]))
    shop.service.put_items(ATTACK, [Item(id=ATTACK, features=[1.0])])
    decided(shop.service, ATTACK, [ATTACK])
    given = {"bandit": ATTACK, "task": ATTACK, "prefix": ATTACK, "arm": ATTACK, "status": ATTACK}
    for path in (*PAGES, "/task", "/tasks"):
        html = client.get(path, params=given).text
        assert "<script>alert" not in html
    assert "&lt;script&gt;" in html


@pytest.mark.parametrize(
    "page",
    ["/?bandit=none", "/task?task=none", "/task", "/decision?id=none", "/decision"],
)
def test_what_is_not_there_is_a_page(reader: PageClient, page: str) -> None:
    assert "To the overview" in text_of(reader, page, 404)


@pytest.mark.parametrize(
    "query",
    [
        "window=none",
        "since=none&until=9",
        "since=0001-01-01",
        "until=9999-12-31",
        "first=-1",
        "first=1e9",
        "after=x:y",
        "after=nan:1",
        "sort=1",
        "prefix=%FF",
    ],
)
def test_odd_addresses_are_answered(reader: PageClient, query: str) -> None:
    for page in PAGES:
        assert reader.get(f"{page}?{query}").status_code == 200


def test_nul_characters_are_refused(reader: PageClient) -> None:
    for path in ("/?bandit=%00", "/task?task=a%00b", "/tasks?prefix=%00"):
        assert "must not have NUL" in text_of(reader, path, 422)


@pytest.mark.parametrize("page", [*PAGES, "/task?task=user-0003"])
def test_the_changing_part_comes_alone(reader: PageClient, page: str) -> None:
    for _ in range(5):  # the service may have committed something between the two calls
        whole = text_of(reader, page)
        part = reader.get(page, headers={"X-Headstart-Fragment": "1"})
        html: Any = part.json()["html"]
        assert "<html" not in html
        if html.strip() in whole:
            return
    raise AssertionError(html)


def test_a_decision_says_why(client: PageClient, shop: Shop) -> None:
    [answer] = decided(shop.service, BANDIT, ["user-0003"])
    page = text_of(client, f"/decision?id={answer.id}")
    assert f'<h1 class="name">{answer.arms[0].arm}</h1>' in page
    assert all(name in page for name in FEATURES)


def test_an_observation_has_no_reasons(client: PageClient, shop: Shop) -> None:
    request = ObservationRequest(task="user-0003", arm="Mocha", value=0.5)
    [answer] = shop.service.observe(BANDIT, [request]).result(60)
    assert isinstance(answer, ObservationAnswer)
    page = text_of(client, f"/decision?id={answer.id}")
    assert "The choice was made elsewhere" in page
    assert "chosen elsewhere" in page


def test_erasing_needs_the_name(client: PageClient) -> None:
    form = {"bandit": "coffee", "task": "user-0003", "confirmed": "user-0004"}
    answer = client.post("/task/erase", data=form)
    assert "Nothing was erased" in answer.text
    text_of(client, "/task?task=user-0003")
    answer = client.post("/task/erase", data=form | {"confirmed": "user-0003"})
    assert "The task is erased" in answer.text
    text_of(client, "/task?task=user-0003", 404)


def test_fits_are_promoted_and_withdrawn(client: PageClient, shop: Shop) -> None:
    [fit] = shop.jobs.fits(BANDIT)
    assert 'action="/fit/promote"' in text_of(client, "/prior")
    form = {"bandit": BANDIT, "fit": str(fit.id)}
    assert "promoted" in client.post("/fit/promote", data=form).text
    assert shop.jobs.fit(BANDIT, fit.id).status == "promoted"
    assert 'action="/fit/withdraw"' in text_of(client, "/prior")
    assert "withdrawn" in client.post("/fit/withdraw", data=form).text
    assert shop.jobs.fit(BANDIT, fit.id).status == "withdrawn"
    assert client.post("/fit/promote", data=form | {"fit": "1; --"}).status_code == 422


def test_a_reader_sees_no_forms(shared: Shop) -> None:
    client = PageClient(application(shared.service, shared.jobs))
    assert '<form method="post"' not in text_of(client, "/prior")
    assert "Erase" not in text_of(client, "/task?task=user-0003")


def test_a_store_that_is_away_is_a_page(client: PageClient, shop: Shop) -> None:
    with shop.service.database.writing() as connection:
        connection.exec_driver_sql("DROP TABLE minutes")
    assert "cannot be read now" in text_of(client, "/", 503)


@pytest.mark.parametrize("path", ["/nothing", "/static/nothing", "/items/more"])
def test_a_path_that_is_not_there_is_one_sentence(reader: PageClient, path: str) -> None:
    answer = reader.get(path)
    assert (answer.status_code, answer.headers["content-type"]) == (404, "application/problem+json")
    detail = f"there is no path '{path}': /openapi.json has all that there are"
    assert answer.json()["detail"] == detail
    page = reader.get(path, headers={"accept": "text/html,*/*"})
    assert page.status_code == 404
    assert "There is no page at this address" in page.text


def test_coefficients_of_uneven_features_are_compared_by_their_spread() -> None:
    row = PriorVersion(
        version=1,
        time=0.0,
        source="refresh",
        n_tasks=9,
        effective_tasks=9.0,
        noise_scale=1.0,
        mean=[-1.6e-5, 0.2, 0.1],
        spread=[4e-6, 0.1, 0.1],
    )
    names = ["cents", "one", "two"]
    shown = coefficients(names, [row], "size", 0)
    assert [row["name"] for row in shown["rows"]] == names
    assert shown["decimals"] is None
    even = coefficients(names, [replace(row, spread=[0.1, 0.1, 0.1])], "size", 0)
    assert [row["name"] for row in even["rows"]] == ["one", "two", "cents"]
