"""Fits: what a promoted log makes of the prior, and that withdrawing undoes it."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.service.jobs.setting import NAMES, ON_SQLITE, D, Owner, ended, in_folder, log, tables

import headstart as hs
from headstart.service.engine.configuration import model_of
from headstart.service.jobs.jobs import Jobs
from headstart.service.jobs.messages import FitRequest, FitView, LogColumns
from headstart.service.messages import ServiceError

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


def assert_prior(owner: Owner, bandit: hs.MetaBandit) -> None:
    """The service's prior is the bandit's."""
    model = model_of(owner.configuration, owner.clock)
    found, expected = owner.memory().learned(model), bandit.learned()
    np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.spread, expected.spread, rtol=1e-9)
    np.testing.assert_allclose(found.noise_scale, expected.noise_scale, rtol=1e-9)
    assert found.n_tasks == expected.n_tasks


def fitted(frame: pd.DataFrame, **settings: Any) -> hs.MetaBandit:
    bandit = hs.MetaBandit(dimension=D, seed=0, **settings)
    return bandit.fit(frame, task="user", features=NAMES)


def test_a_promoted_fit_gives_the_prior_of_metabandit_fit(
    jobs: Jobs, owner: Owner, data: Path
) -> None:
    one, two = log(seed=1), log(seed=2).assign(user=lambda frame: "v" + frame["user"])
    first = shadow(jobs, in_folder(data, "one.parquet", one))
    changed = jobs.promote("shop", first.id)
    assert changed.fit.status == "promoted"
    assert changed.prior_version == 1
    assert_prior(owner, fitted(one))
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
    assert_prior(owner, both)
    jobs.withdraw("shop", first.id)
    assert_prior(owner, fitted(two))


def test_withdrawing_gives_what_was_before(jobs: Jobs, owner: Owner, data: Path) -> None:
    jobs.promote("shop", shadow(jobs, in_folder(data, "a.parquet", log(seed=1))).id)
    before = owner.memory().to_bytes()
    fit = shadow(jobs, in_folder(data, "b.parquet", log(seed=2)))
    assert jobs.promote("shop", fit.id).prior_version == 2
    assert owner.memory().to_bytes() != before
    change = jobs.withdraw("shop", fit.id)
    assert change.fit.status == "withdrawn"
    assert change.prior_version == 3
    assert owner.memory().to_bytes() == before
    # And it can be promoted once more.
    assert jobs.promote("shop", fit.id).fit.status == "promoted"


@ON_SQLITE
def test_what_cannot_be_promoted_or_withdrawn(jobs: Jobs, owner: Owner, data: Path) -> None:
    name = in_folder(data, "a.parquet", log())
    first, second = shadow(jobs, name), shadow(jobs, name)
    jobs.promote("shop", first.id)
    before = tables(owner.database)
    for status, call, words in (
        (409, lambda: jobs.promote("shop", first.id), "promoted already"),
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
    assert tables(owner.database) == before
    jobs.delete_fit("shop", second.id)
    assert [each.id for each in jobs.fits("shop")] == [first.id]


@ON_SQLITE
def test_a_fit_whose_prior_cannot_be_computed_does_not_count(
    jobs: Jobs, owner: Owner, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fit = shadow(jobs, in_folder(data, "a.parquet", log()))
    before = tables(owner.database)

    def away(bandit: str, *, source: str) -> int:
        raise ServiceError(503, "Service unavailable", f"{bandit}, {source}")

    monkeypatch.setattr(owner, "rebuild_prior", away)
    with pytest.raises(ServiceError, match="shop, fit"):
        jobs.promote("shop", fit.id)
    assert tables(owner.database) == before


@ON_SQLITE
def test_features_of_different_sizes_have_the_scales_of_what_counts(
    jobs: Jobs, owner: Owner, data: Path
) -> None:
    """Sums in other units do not add: a second log takes the scales of the first."""
    first = log(seed=1).assign(price=lambda frame: 1e4 * frame["price"])
    jobs.promote("shop", shadow(jobs, in_folder(data, "a.parquet", first)).id)
    second = log(seed=2).assign(user=lambda frame: "v" + frame["user"])
    jobs.promote("shop", shadow(jobs, in_folder(data, "b.parquet", second)).id)
    scales = owner.memory().scales
    assert scales is not None
    assert_prior(owner, fitted(first).merge(fitted(second, scales=scales)))


@ON_SQLITE
def test_a_log_in_other_scales_is_refused(jobs: Jobs, data: Path) -> None:
    """Both were learned beside nothing, each in its own scales."""
    far = log(seed=1).assign(price=lambda frame: 1e4 * frame["price"])
    one = shadow(jobs, in_folder(data, "a.parquet", far))
    two = shadow(jobs, in_folder(data, "b.parquet", log(seed=2)))
    jobs.promote("shop", one.id)
    with pytest.raises(ServiceError, match="fit 2 cannot be promoted: .*; fit the log again"):
        jobs.promote("shop", two.id)
    assert jobs.fit("shop", two.id).status == "shadow"
