"""`headstart features`, and `headstart fit` with a schema."""

import json
from pathlib import Path

import pytest
from tests.features.test_inference import shop_log
from typer.testing import CliRunner

import headstart as hs
from headstart.cli import app


@pytest.fixture
def log(tmp_path: Path) -> Path:
    shop_log().to_csv(tmp_path / "log.csv", index=False)
    return tmp_path / "log.csv"


def test_a_schema_is_proposed_shown_and_fitted(log: Path) -> None:
    run = CliRunner().invoke
    found = run(app, ["features", "infer", str(log), "--reward", "click", "--task", "user"])
    assert found.exit_code == 0
    expected = hs.Features.infer(log, reward="click", task="user")
    assert hs.Features.from_json(found.stdout) == expected
    assert found.stderr.strip() == str(expected)
    schema = log.with_name("shop.json")
    schema.write_text(found.stdout, encoding="utf-8")
    shown = run(app, ["features", "show", str(schema)])
    assert shown.exit_code == 0
    for name in (*expected.group_names, str(expected.dimension)):
        assert name in shown.stdout
    out = log.with_name("bandit.npz")
    command = ["fit", str(log), "--features", str(schema), "--task", "user", "--reward", "click"]
    fitted = run(app, [*command, "--out", str(out), "--json"])
    assert fitted.exit_code == 0
    assert json.loads(fitted.stdout)["rows"] == len(shop_log())
    bandit = hs.MetaBandit.load(out)
    assert bandit.features == expected
    assert run(app, [*command, "--dry-run"]).exit_code == 0


def test_what_is_wrong_with_a_schema_is_said(log: Path) -> None:
    run = CliRunner().invoke
    missing = run(app, ["features", "show", str(log.with_name("none.json"))])
    assert missing.exit_code == 2
    wrong = log.with_name("wrong.json")
    wrong.write_text('{"items": []}')
    assert "items" in run(app, ["features", "show", str(wrong)]).stderr
    assert run(app, ["features", "infer", str(log)]).exit_code == 2
