"""A dry run says what is wrong with a log, and changes nothing."""

from pathlib import Path

import numpy as np
from tests.service.jobs.setting import NAMES, ON_SQLITE, ended, in_folder, log, tables

from headstart.service.engine.service import Service
from headstart.service.jobs.jobs import Jobs
from headstart.service.messages import BanditConfiguration, FitReport, FitRequest, LogColumns

COLUMNS = LogColumns(task="user", features=NAMES, id="row")


def test_a_dry_run_reports_and_changes_nothing(jobs: Jobs, service: Service, data: Path) -> None:
    frame = log(tasks=30, rows=8).assign(row=lambda each: np.arange(len(each)))
    frame.loc[5, "reward"] = np.nan
    frame.loc[17, "row"] = 16
    frame["price"] *= 1e3
    in_folder(data, "bad.csv", frame)
    before = tables(service.database, but=("jobs",))
    job = ended(jobs, jobs.start_fit("shop", FitRequest(files=["bad.csv"], columns=COLUMNS)))
    assert tables(service.database, but=("jobs",)) == before
    assert len(jobs.jobs("shop")) == 1
    assert jobs.fits("shop") == []
    report = job.report
    assert isinstance(report, FitReport)
    assert report.dry_run
    assert report.after is None
    found = report.log
    assert (found.rows, found.tasks, found.n_bad, found.n_used) == (240, 30, 1, 238)
    assert found.bad[0].what == "column 'reward' is missing"
    assert found.bad[0].examples[0].row == 5
    assert found.duplicates is not None
    assert found.duplicates.count == 1
    assert found.duplicates.examples[0].row == 17
    assert found.far_apart == ["price"]
    used = frame.drop([5, 17])["price"]
    assert np.isclose(found.features[1].root_mean_square or 0.0, np.sqrt((used**2).mean()))


@ON_SQLITE
def test_a_log_with_a_bad_row_is_not_learned(jobs: Jobs, service: Service, data: Path) -> None:
    frame = log()
    frame.loc[5, "reward"] = np.inf
    in_folder(data, "bad.parquet", frame)
    columns = LogColumns(task="user", features=NAMES)
    before = tables(service.database, but=("jobs",))
    request = FitRequest(files=["bad.parquet"], columns=columns, dry_run=False)
    job = ended(jobs, jobs.start_fit("shop", request))
    assert job.status == "failed"
    assert job.error is not None
    assert "'reward' must be finite in every row, got inf in row 5" in job.error
    assert tables(service.database, but=("jobs",)) == before
    request = FitRequest(files=["bad.parquet"], columns=columns, dry_run=False, on_bad="drop")
    job = ended(jobs, jobs.start_fit("shop", request))
    assert job.status == "done"
    assert isinstance(job.report, FitReport)
    assert job.report.log.n_bad == 1
    assert job.report.fit == jobs.fits("shop")[0].id


@ON_SQLITE
def test_a_short_row_is_a_bad_row_of_the_report(jobs: Jobs, data: Path) -> None:
    path = data / in_folder(data, "bad.csv", log())
    lines = path.read_text().splitlines()
    lines[6] = lines[6].rpartition(",")[0]
    lines[9] += ",more"
    path.write_text("\n".join(lines))
    columns = LogColumns(task="user", features=NAMES)
    for request in (
        FitRequest(files=["bad.csv"], columns=columns),
        FitRequest(files=["bad.csv"], columns=columns, dry_run=False, on_bad="drop"),
    ):
        job = ended(jobs, jobs.start_fit("shop", request))
        assert job.error is None
        assert isinstance(job.report, FitReport)
        found = job.report.log
        assert (found.rows, found.n_bad, found.n_used) == (240, 2, 238)
        assert [(each.row, each.value) for each in found.bad[0].examples] == [(5, 4), (8, 6)]


@ON_SQLITE
def test_a_reward_that_decisions_could_not_have_is_a_bad_row(jobs: Jobs, data: Path) -> None:
    frame = log()
    frame.loc[5, "reward"] = 1e49
    in_folder(data, "bad.parquet", frame)
    columns = LogColumns(task="user", features=NAMES)
    job = ended(jobs, jobs.start_fit("shop", FitRequest(files=["bad.parquet"], columns=columns)))
    assert isinstance(job.report, FitReport)
    (bad,) = job.report.log.bad
    assert bad.what == "column 'reward' is outside of reward_range (-1e+09, 1e+09)"
    request = FitRequest(files=["bad.parquet"], columns=columns, dry_run=False)
    job = ended(jobs, jobs.start_fit("shop", request))
    assert job.status == "failed"
    assert jobs.fits("shop") == []


@ON_SQLITE
def test_rewards_of_a_log_must_be_within_the_bandits_range(
    jobs: Jobs, service: Service, data: Path
) -> None:
    configuration = BanditConfiguration(dimension=3, reward_range=(-50.0, 50.0))
    service.put_bandit("shop", configuration)
    frame = log()
    frame.loc[5, "reward"] = 100_000.0
    in_folder(data, "bad.parquet", frame)
    columns, bad = LogColumns(task="user", features=NAMES), []
    for settings in ({}, {"dry_run": False}, {"dry_run": False, "on_bad": "drop"}):
        request = FitRequest(files=["bad.parquet"], columns=columns, **settings)
        job = ended(jobs, jobs.start_fit("shop", request))
        bad.append(job.error or job.report.log.bad[0].what)  # type: ignore[union-attr]
    assert "must be within reward_range (-50, 50), got 100000.0 in row 5" in bad[1]
    assert bad[0] == bad[2] == "column 'reward' is outside of reward_range (-50, 50)"


@ON_SQLITE
def test_tasks_that_are_set_aside_are_counted_in_the_report(jobs: Jobs, data: Path) -> None:
    frame = log()
    frame.loc[[100, 200], "reward"] = 1e9
    in_folder(data, "log.parquet", frame)
    columns = LogColumns(task="user", features=NAMES)
    request = FitRequest(files=["log.parquet"], columns=columns, dry_run=False)
    report = ended(jobs, jobs.start_fit("shop", request)).report
    assert isinstance(report, FitReport)
    assert report.after is not None
    assert report.after.n_tasks == 28
    assert report.log.set_aside is not None
    assert (report.log.set_aside.count, report.log.set_aside.examples) == (2, ["u12", "u25"])
    assert jobs.fits("shop")[0].n_tasks == 28
