"""Fits: what a promoted log makes of the prior, and that withdrawing undoes it."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.service.jobs.setting import NAMES, ON_SQLITE, D, ended, in_folder, log, tables

import headstart as hs
from headstart.service.engine.service import Service
from headstart.service.jobs.jobs import Jobs
from headstart.service.messages import (
    DecisionAnswer,
    DecisionRequest,
    FitReport,
    FitRequest,
    FitView,
    Item,
    LogColumns,
    ObservationRequest,
    ServiceError,
)

pytestmark = pytest.mark.slow

COLUMNS = LogColumns(task="user", features=NAMES)


def shadow(jobs: Jobs, name: str, columns: LogColumns = COLUMNS) -> FitView:
    """Learn a file of the data folder."""
    job = jobs.start_fit("shop", FitRequest(files=[name], columns=columns, dry_run=False))
    found = ended(jobs, job)
    assert found.error is None
    fit = jobs.fits("shop")[0]
    assert fit.job == job.id
    assert fit.status == "shadow"
    return fit


def assert_prior(service: Service, bandit: hs.MetaBandit) -> None:
    """The service's prior is the bandit's."""
    found, expected = service.prior("shop"), bandit.learned()
    np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.spread, expected.spread, rtol=1e-9)
    np.testing.assert_allclose(found.noise_scale, expected.noise_scale, rtol=1e-9)
    assert found.n_tasks == expected.n_tasks


def numbers(service: Service) -> tuple[object, ...]:
    """What a version of the prior says."""
    prior = service.prior("shop")
    return prior.mean, prior.spread, prior.noise_scale, prior.n_tasks, prior.effective_tasks


def fitted(frame: pd.DataFrame, **settings: Any) -> hs.MetaBandit:
    bandit = hs.MetaBandit(dimension=D, seed=0, **settings)
    return bandit.fit(frame, task="user", features=NAMES)


def in_scales_of(frame: pd.DataFrame) -> hs.MetaBandit:
    """A bandit that knows nothing but the sizes of the features in a log."""
    bandit = hs.MetaBandit(dimension=D, seed=0)
    population = bandit._memory.population
    population.scales = fitted(frame)._memory.population.scales
    assert population.scales is not None
    population.scales_known = True
    return bandit


def test_a_promoted_fit_gives_the_prior_of_metabandit_fit(
    jobs: Jobs, service: Service, data: Path
) -> None:
    one, two = log(seed=1), log(seed=2).assign(user=lambda frame: "v" + frame["user"])
    first = shadow(jobs, in_folder(data, "one.parquet", one))
    changed = jobs.promote("shop", first.id)
    assert changed.fit.status == "promoted"
    assert changed.prior_version == 1
    assert_prior(service, fitted(one))
    expected = fitted(one).learned()
    np.testing.assert_allclose(first.mean, expected.mean, rtol=1e-9)
    np.testing.assert_allclose(first.spread, expected.spread, rtol=1e-9)
    # A second log beside the first is as a bandit that is merged.
    second = shadow(jobs, in_folder(data, "folder/two.csv", two))
    assert second.report.before is not None
    np.testing.assert_allclose(second.report.before.mean, expected.mean, rtol=1e-9)
    both = fitted(one).merge(fitted(two))
    np.testing.assert_allclose(second.mean, both.learned().mean, rtol=1e-9)
    jobs.promote("shop", second.id)
    assert_prior(service, both)
    jobs.withdraw("shop", first.id)
    assert_prior(service, fitted(two))


def observe(service: Service, frame: pd.DataFrame) -> None:
    """Have the tasks of a log play in the service."""
    rows = zip(frame["user"], frame[NAMES].to_numpy().tolist(), frame["reward"], strict=True)
    requests = [ObservationRequest(task=t, features=x, value=y) for t, x, y in rows]
    service.observe("shop", requests).result()
    service.refresh("shop")


def test_withdrawing_gives_what_was_before(jobs: Jobs, service: Service, data: Path) -> None:
    observe(service, log(tasks=10, seed=3).assign(user=lambda frame: "s" + frame["user"]))
    jobs.promote("shop", shadow(jobs, in_folder(data, "a.parquet", log(seed=1))).id)
    before = numbers(service)
    fit = shadow(jobs, in_folder(data, "b.parquet", log(seed=2)))
    assert numbers(service) == before
    version = service.prior("shop").version
    assert jobs.promote("shop", fit.id).prior_version == version + 1
    assert numbers(service) != before
    assert service.prior("shop").n_tasks == 10 + 30 + 30
    np.testing.assert_allclose(service.prior("shop").mean, fit.mean, rtol=1e-9)
    change = jobs.withdraw("shop", fit.id)
    assert change.fit.status == "withdrawn"
    assert change.prior_version == version + 2
    assert numbers(service) == before
    sources = [each.source for each in service.prior("shop").history[:3]]
    assert sources == ["withdrawal", "fit", "fit"]
    # And it can be promoted once more.
    assert jobs.promote("shop", fit.id).fit.status == "promoted"


@ON_SQLITE
def test_a_new_task_starts_from_a_promoted_fit(jobs: Jobs, service: Service, data: Path) -> None:
    arms: dict[str, Any] = {"a": [1.0, 0.0, 0.0], "b": [-1.0, 0.0, 0.0]}
    fit = shadow(jobs, in_folder(data, "a.parquet", log()))
    jobs.promote("shop", fit.id)
    answer = service.decide("shop", [DecisionRequest(task="new", arms=arms)]).result()[0]
    assert isinstance(answer, DecisionAnswer)
    assert answer.arms[0].arm == "a"
    assert answer.arms[0].mean == pytest.approx(fit.mean[0])


@ON_SQLITE
def test_few_tasks_are_counted_in_the_scales_of_a_promoted_fit(
    jobs: Jobs, service: Service, data: Path
) -> None:
    """Before 32 rewards the store does not know the sizes of features; a log does."""
    frame = log(tasks=3, rows=8, seed=3).assign(price=lambda frame: 1e4 * frame["price"])
    few = frame.assign(user=lambda each: "s" + each["user"])
    observe(service, few)
    far = log(seed=1).assign(price=lambda frame: 1e4 * frame["price"])
    fit = shadow(jobs, in_folder(data, "a.parquet", far))
    jobs.promote("shop", fit.id)
    expected = fitted(far)
    with_few = in_scales_of(far)
    for name, x, y in zip(few["user"], few[NAMES].to_numpy(), few["reward"], strict=True):
        with_few.observe(name, x, y)
    assert service.prior("shop").n_tasks == 33
    np.testing.assert_allclose(
        service.prior("shop").mean, with_few.merge(expected).learned().mean, rtol=1e-6
    )
    # Tasks that come later are counted as well.
    observe(service, log(tasks=10, seed=4).assign(user=lambda each: "t" + each["user"]))
    assert service.prior("shop").n_tasks == 43
    jobs.withdraw("shop", fit.id)
    assert service.prior("shop").n_tasks == 13


@ON_SQLITE
def test_what_cannot_be_promoted_or_withdrawn(jobs: Jobs, service: Service, data: Path) -> None:
    name = in_folder(data, "a.parquet", log())
    first, second = shadow(jobs, name), shadow(jobs, name)
    jobs.promote("shop", first.id)
    before = tables(service.database)
    for status, call, words in (
        (409, lambda: jobs.promote("shop", first.id), "already promoted"),
        (409, lambda: jobs.promote("shop", second.id), "would count twice: withdraw it first"),
        (409, lambda: jobs.withdraw("shop", second.id), "must be promoted, and it is shadow"),
        (409, lambda: jobs.delete_fit("shop", first.id), "must be withdrawn, and it is promoted"),
        (404, lambda: jobs.promote("shop", 99), "no fit 99"),
        (404, lambda: jobs.withdraw("shop", 99), "no fit 99"),
        (404, lambda: jobs.promote("other", first.id), "no bandit 'other'"),
    ):
        with pytest.raises(ServiceError, match=words) as error:
            call()
        assert error.value.problem.status == status
    assert tables(service.database) == before
    jobs.delete_fit("shop", second.id)
    assert [each.id for each in jobs.fits("shop")] == [first.id]


@ON_SQLITE
def test_a_fit_whose_prior_cannot_be_computed_does_not_count(
    jobs: Jobs, service: Service, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fit = shadow(jobs, in_folder(data, "a.parquet", log()))
    before = tables(service.database)

    def away(bandit: str, source: str, *, whole: bool) -> int:
        raise ServiceError(503, "Service unavailable", f"{bandit}, {source}")

    monkeypatch.setattr(service, "refresh", away)
    with pytest.raises(ServiceError, match="shop, fit"):
        jobs.promote("shop", fit.id)
    assert tables(service.database) == before


@ON_SQLITE
def test_features_of_different_sizes_have_the_scales_of_what_counts(
    jobs: Jobs, service: Service, data: Path
) -> None:
    """Sums in other units do not add: a second log takes the scales of the first."""
    first = log(seed=1).assign(price=lambda frame: 1e4 * frame["price"])
    jobs.promote("shop", shadow(jobs, in_folder(data, "a.parquet", first)).id)
    second = log(seed=2).assign(user=lambda frame: "v" + frame["user"])
    jobs.promote("shop", shadow(jobs, in_folder(data, "b.parquet", second)).id)
    in_scales = in_scales_of(first).fit(second, task="user", features=NAMES)
    assert_prior(service, fitted(first).merge(in_scales))


@ON_SQLITE
def test_a_log_in_other_scales_is_refused(jobs: Jobs, data: Path) -> None:
    """Both were learned beside nothing, each in its own scales."""
    far = log(seed=1).assign(price=lambda frame: 1e4 * frame["price"])
    one = shadow(jobs, in_folder(data, "a.parquet", far))
    two = shadow(jobs, in_folder(data, "b.parquet", log(seed=2)))
    jobs.promote("shop", one.id)
    with pytest.raises(ServiceError, match=r"fit 2 cannot be promoted: .*; fit the log again"):
        jobs.promote("shop", two.id)
    assert jobs.fit("shop", two.id).status == "shadow"


@ON_SQLITE
def test_a_log_may_name_items_of_the_catalogue(service: Service, jobs: Jobs, data: Path) -> None:
    rng = np.random.default_rng(3)
    catalogue = {f"i{n}": rng.standard_normal(D).tolist() for n in range(6)}
    service.put_items("shop", [Item(id=each, features=x) for each, x in catalogue.items()])
    frame = log()
    named = rng.choice(list(catalogue), len(frame))
    frame[NAMES] = [catalogue[each] for each in named]
    by_item = frame.drop(columns=NAMES).assign(item=named)
    in_folder(data, "items.csv", by_item)
    fit = shadow(jobs, "items.csv", LogColumns(task="user", arm="item"))
    jobs.promote("shop", fit.id)
    assert_prior(service, fitted(frame))
    by_item.loc[4, "item"] = "none of them"
    in_folder(data, "bad.csv", by_item)
    request = FitRequest(files=["bad.csv"], columns=LogColumns(task="user", arm="item"))
    report = ended(jobs, jobs.start_fit("shop", request)).report
    assert isinstance(report, FitReport)
    assert report.log.n_bad == 1
    both = FitRequest(files=["bad.csv"], columns=LogColumns(arm="item", features=NAMES))
    with pytest.raises(ServiceError, match="features must not be named next to arm"):
        jobs.start_fit("shop", both)
