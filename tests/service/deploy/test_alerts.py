"""Alert rules and the board: Prometheus takes them, and they ask for metrics that there are."""

import re
import subprocess
from pathlib import Path
from typing import Any

import msgspec
from tests.docs import blocks
from tests.service.deploy.folder import DEPLOY, program
from tests.service.shop import Shop

from headstart.live.outcomes import Outcome
from headstart.service.http.metrics import Metrics
from headstart.service.http.routes import ROUTES

RULES = DEPLOY / "alerts.yaml"
CASES = Path(__file__).with_name("alerts-test.yaml")


def _alerts() -> dict[str, str]:
    """The expression of every alert."""
    read: Any = msgspec.yaml.decode(RULES.read_bytes())
    return {rule["alert"]: rule["expr"] for group in read["groups"] for rule in group["rules"]}


def _panels() -> list[str]:
    """The expressions of the board, and those of its variables."""
    board: Any = msgspec.json.decode((DEPLOY / "grafana.json").read_bytes())
    drawn = [target["expr"] for panel in board["panels"] for target in panel.get("targets", ())]
    return [*drawn, *(each["query"] for each in board["templating"]["list"])]


def test_prometheus_takes_the_rules_and_each_alert_fires() -> None:
    promtool = program("promtool", "prometheus")
    for command in (
        ["check", "rules", str(RULES)],
        ["check", "config", "--syntax-only", str(DEPLOY / "prometheus.yaml")],
        ["test", "rules", str(CASES)],
    ):
        done = subprocess.run(
            [promtool, *command], capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
    assert set(re.findall('alertname="(.*?)"', CASES.read_text("utf-8"))) == set(_alerts())


def test_every_metric_of_rules_and_board_is_exported(shared: Shop) -> None:
    text = Metrics(shared.service).text().decode()
    exported = set(re.findall(r"^# TYPE (\S+) ", text, re.MULTILINE))
    exported |= {f"{each}_bucket" for each in re.findall(r"^# TYPE (\S+) histogram$", text, re.M)}
    asked = " ".join([*_alerts().values(), *_panels()])
    named = set(re.findall(r"\b(?:headstart|process)_\w+", asked))
    assert named - exported == set()
    assert set(re.findall(r'route="(.*?)"', asked)) <= {route.path for route in ROUTES}
    outcomes = set("|".join(re.findall(r'outcome=~"(.*?)"', asked)).split("|"))
    assert outcomes <= {each.value for each in Outcome}


def test_every_alert_is_explained() -> None:
    page = blocks.text_of("how-to/run-it-for-a-year.md")
    explained = re.findall(r"^\| `(Headstart\w+)` \|", page, re.MULTILINE)
    assert explained == list(_alerts())
