"""`headstart fit`: every setting of the bandit, and errors that name what is wrong."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from rich.console import Console
from typer.testing import CliRunner, Result

import headstart as hs
from headstart.cli import app
from headstart.cli.output import progress_bar


@pytest.fixture(name="log")
def _log(tmp_path: Path) -> Path:
    """400 rows of 20 users in two files; three rows are bad, and two came twice."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_normal((400, 2)), columns=["x1", "x2"])
    frame["user"] = rng.integers(20, size=400)
    frame["clicked"] = frame["x1"] + 0.1 * rng.standard_normal(400)
    frame["event"] = np.arange(400)
    frame["when"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(400), unit="h")
    frame.loc[[7, 8, 9], "clicked"] = np.nan
    folder = tmp_path / "log"
    folder.mkdir()
    frame[:250].to_parquet(folder / "a.parquet")
    pd.concat([frame[250:], frame[:2]]).to_csv(folder / "b.csv", index=False)
    return folder


COLUMNS = ["--task", "user", "--features", "x1, x2", "--reward", "clicked", "--id", "event"]
GOOD = [*COLUMNS, "--on-bad", "drop"]


def _fit(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["fit", *map(str, arguments)])


def test_files_folders_and_patterns_are_read_together(log: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / "folder" / "bandit.npz"
    files = (log / "a.parquet", log / "b.csv")
    for logs in ((log,), files, (f"{log}/*",)):
        done = _fit(*logs, *GOOD, "--out", out)
        assert done.exit_code == 0, done.output
        assert "402 rows of 20 tasks in 2 files, tables or partitions; 397 count" in done.output
        assert "3 rows left out: column 'clicked' is missing (row 7 of " in done.output
        assert "2 repeated rows ('event' seen before) left out (row 150 of " in done.output
        assert "20 tasks with 2 features" in done.output
        assert hs.MetaBandit.load(out).n_finished == 20


def test_every_setting_reaches_the_bandit(log: Path, tmp_path: Path) -> None:
    out = tmp_path / "bandit.npz"
    settings = ["idle_seconds = 3600", "discount=0.99", "reward_range=[-9, 9]"]
    given = [word for setting in settings for word in ("--set", setting)]
    given += ["--prior", "Hierarchical", "--prior", "covariance=isotropic"]
    given += ["--policy", "z=2.5", "--policy", "BayesUCB", "--remember-tasks", "--time", "when"]
    done = _fit(log, *GOOD, *given, "--out", out)
    assert done.exit_code == 0, done.output
    bandit = hs.MetaBandit.load(out)
    assert bandit.settings.idle_seconds == 3600
    assert bandit.settings.discount == 0.99
    assert bandit.settings.reward_range == (-9, 9)
    assert bandit.prior == hs.priors.Hierarchical(covariance="isotropic")
    assert bandit.policy == hs.policies.BayesUCB(z=2.5)
    bandit.decide(3, np.eye(2))  # kept, by its integer name
    assert bandit.task(3).n_rewards > 0


def test_settings_come_from_a_file_too(log: Path, tmp_path: Path) -> None:
    out, file = tmp_path / "bandit.npz", tmp_path / "bandit.toml"
    file.write_text(
        'exploration = 0.2\ndiscount = 0.9\n[prior]\nclass = "Pooled"\nregularization = 2.0\n'
    )
    done = _fit(log, *GOOD, "--settings", file, "--set", "discount=0.5", "--out", out)
    assert done.exit_code == 0, done.output
    bandit = hs.MetaBandit.load(out)
    assert (bandit.settings.exploration, bandit.settings.discount) == (0.2, 0.5)
    assert repr(bandit.prior) == repr(hs.priors.Pooled(regularization=2.0))
    done = _fit(log, *GOOD, "--settings", file, "--prior", "Average", "--out", out)
    assert done.exit_code == 0, done.output
    assert repr(hs.MetaBandit.load(out).prior) == repr(hs.priors.Average())


def test_a_dry_run_reports_and_saves_nothing(log: Path, tmp_path: Path) -> None:
    out = tmp_path / "bandit.npz"
    done = _fit(log, *COLUMNS, "--dry-run", "--out", out)
    assert done.exit_code == 0, done.output
    assert "402 rows of 20 tasks" in done.output
    assert "rms" in done.output
    assert "Nothing was learned or saved." in done.output
    assert "A run would refuse this log for its 3 bad rows; --on-bad drop leaves" in done.output
    assert not out.exists()
    assert "would refuse" not in _fit(log, *GOOD, "--dry-run").output
    done = _fit(log, *COLUMNS, "--dry-run", "--set", "reward_range=-1,1")
    assert "rows left out: column 'clicked' is outside of reward_range (-1, 1)" in done.output


def test_a_range_may_be_written_without_brackets(log: Path, tmp_path: Path) -> None:
    out = tmp_path / "bandit.npz"
    done = _fit(log, *GOOD, "--set", "reward_range=-1, 1.5", "--out", out)
    assert done.exit_code == 0, done.output
    assert hs.MetaBandit.load(out).settings.reward_range == (-1.0, 1.5)


def test_progress_without_a_total_names_none() -> None:
    console = Console(record=True, width=100, force_terminal=True)
    with progress_bar(console, "rows", "reading") as tell:
        tell(20_100, 0)
    assert "20.1 thousand rows" in console.export_text()


def test_json_is_all_that_is_printed(log: Path, tmp_path: Path) -> None:
    out = tmp_path / "bandit.npz"
    for words, saved in ((["--dry-run"], None), (["--on-bad", "drop"], str(out))):
        done = _fit(log, *COLUMNS, *words, "--json", "--out", out)
        assert done.exit_code == 0, done.output
        found = json.loads(done.stdout)
        assert (found["rows"], found["n_bad"], found["tasks"]) == (402, 3, 20)
        assert found["duplicates"]["count"] == 2
        assert [each["name"] for each in found["features"]] == ["x1", "x2"]
        assert found["saved"] == saved


def test_quiet_prints_nothing(log: Path, tmp_path: Path) -> None:
    done = _fit(log, *GOOD, "--quiet", "--out", tmp_path / "bandit.npz")
    assert (done.exit_code, done.output) == (0, "")


BAD: dict[str, tuple[list[str], str]] = {
    "bad rows": (COLUMNS, "in row 7 of"),
    "bad rows, with the option": (COLUMNS, "; --on-bad drop leaves such rows out"),
    "a missing column": ([*GOOD, "--reward", "liked"], "column 'liked'"),
    "an empty name": ([*GOOD, "--features", "x1,,x2"], "'x1,,x2'"),
    "a timestamp as feature": ([*GOOD, "--features", "x1, when"], "must hold numbers or booleans"),
    "a timestamp as reward": ([*GOOD, "--reward", "when"], "must hold numbers or booleans"),
    "an unknown setting": ([*GOOD, "--set", "colour=5"], "is not a setting of a bandit"),
    "half a setting": ([*GOOD, "--set", "discount"], "name=value"),
    "a wrong setting": ([*GOOD, "--set", "discount=0"], "discount"),
    "an unknown prior": ([*GOOD, "--prior", "Best"], "prior.class"),
    "a prior without class": ([*GOOD, "--prior", "covariance=isotropic"], "must name one class"),
    "an unknown word of a prior": ([*GOOD, "--prior", "Pooled", "--prior", "a=1"], "prior.a"),
    "no settings file": ([*GOOD, "--settings", "no.toml"], "no.toml"),
    "about that the prior cannot use": ([*GOOD, "--about", "event"], "about"),
    "not grouped": ([*GOOD, "--grouped-by-task"], "not consecutive"),
}


@pytest.mark.parametrize("what", BAD)
def test_what_is_wrong_is_named(what: str, log: Path, tmp_path: Path) -> None:
    words, message = BAD[what]
    done = _fit(log, *words, "--out", tmp_path / "bandit.npz")
    assert done.exit_code == 2, done.output
    assert message in " ".join(done.output.replace("│", " ").split())
    assert not (tmp_path / "bandit.npz").exists()


def test_missing_files_and_folders_are_named_before_anything_is_read(
    log: Path, tmp_path: Path
) -> None:
    for path in (tmp_path / "no.parquet", tmp_path / "no" / "*.csv", tmp_path / "folder"):
        (tmp_path / "folder").mkdir(exist_ok=True)
        done = _fit(path, *GOOD, "--out", tmp_path / "bandit.npz")
        assert done.exit_code == 2
        assert path.name in done.output
    for out in (tmp_path, log / "b.csv" / "bandit.npz"):
        done = _fit(log, *GOOD, "--out", out)
        assert done.exit_code == 2
        assert "is a f" in done.output


def test_a_log_may_name_items_of_a_file(tmp_path: Path) -> None:
    out, log, items = (tmp_path / name for name in ("bandit.npz", "log.csv", "items.csv"))
    items.write_text("id,price,name,size\n1,0.5,tea,1\n2,2.5,rum,-1\n")
    log.write_text("task,item,reward\nann,1,1\nann,2,0\nbob,2,1\nbob,1,0\n")
    given = ["--arm", "item", "--items", items, "--features", "price, size", "--out", out]
    done = _fit(log, *given)
    assert done.exit_code == 0, done.output
    by_hand = pd.DataFrame({"task": ["ann", "ann", "bob", "bob"], "reward": [1.0, 0.0, 1.0, 0.0]})
    by_hand[["price", "size"]] = [[0.5, 1], [2.5, -1], [2.5, -1], [0.5, 1]]
    expected = hs.MetaBandit(dimension=2).fit(by_hand, features=["price", "size"])
    found = hs.MetaBandit.load(out)
    np.testing.assert_array_equal(found.learned().mean, expected.learned().mean)
    for wrong, said in (
        (["--arm", "item"], "--arm item needs --items"),
        ([*given[:4], "--features", "price, cost"], "'cost' as a column"),
        ([*given[:4], "--features", "features"], "could not convert"),
    ):
        assert said in _fit(log, *wrong).stderr, said
