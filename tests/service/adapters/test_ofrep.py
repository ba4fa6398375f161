"""OFREP: what OpenFeature's own providers get, and what the protocol asks for beyond them."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from openfeature import api
from openfeature.client import OpenFeatureClient
from openfeature.contrib.provider.ofrep import OFREPProvider
from openfeature.evaluation_context import EvaluationContext
from openfeature.exception import ErrorCode
from openfeature.flag_evaluation import Reason
from tests.docs import blocks
from tests.needs import missing
from tests.service.adapters.setting import BANDIT, Served

from headstart.service.client import Client
from headstart.service.messages import BanditConfiguration, Item

JAVASCRIPT = Path(__file__).parent / "javascript"
FLAGS = "/ofrep/v1/evaluate/flags"


def provided(served: Served, key: str | None) -> OpenFeatureClient:
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    api.set_provider(OFREPProvider(served.address, headers_factory=lambda: headers, timeout=60))
    return api.get_client()


@pytest.fixture
def flags(served: Served) -> Iterator[OpenFeatureClient]:
    yield provided(served, served.key)
    api.clear_providers()


def context(task: str, **known: Any) -> EvaluationContext:
    return EvaluationContext(targeting_key=task, attributes=known)


def test_an_evaluation_is_a_decision_that_can_be_rewarded(
    served: Served, flags: OpenFeatureClient
) -> None:
    known = context("ann", device="phone", user={"age": 52}, plan="gold")
    found = flags.get_string_details(BANDIT, "none", known)
    decision = str(found.flag_metadata["decision"])
    record = served.record(decision)
    assert (found.value, found.variant) == (record.arm, record.arm)
    assert found.value in ("tea", "mug")
    assert found.reason == Reason.TARGETING_MATCH
    assert found.error_code is None
    assert found.flag_metadata["propensity"] == record.propensity
    assert record.task == "ann"
    # The context's attributes are those of the schema's sides; what it does not have is left out.
    assert served.features(decision)["device=phone"] == 1.0
    assert served.service.task(BANDIT, "ann").side == [1.0]
    with Client(served.address, key=served.key) as client:
        assert client.bandit(BANDIT).reward(decision, 1.0).outcome == "paid"


def test_every_evaluation_is_a_decision_but_those_with_one_key(flags: OpenFeatureClient) -> None:
    def decision(**known: Any) -> object:
        return flags.get_string_details(BANDIT, "", context("bob", **known)).flag_metadata

    assert decision() != decision()
    assert decision(idempotency_key="view-1") == decision(idempotency_key="view-1")
    assert decision(idempotency_key="view-1") != decision(idempotency_key="view-2")


def test_errors_are_those_that_providers_know(served: Served, flags: OpenFeatureClient) -> None:
    ann = context("ann")
    assert flags.get_string_details("none", "", ann).error_code is ErrorCode.FLAG_NOT_FOUND
    assert flags.get_string_details(BANDIT, "").error_code is ErrorCode.TARGETING_KEY_MISSING
    wrong = flags.get_string_details(BANDIT, "mine", context("ann", rain="maybe"))
    assert (wrong.error_code, wrong.value) == (ErrorCode.INVALID_CONTEXT, "mine")
    assert "rain" in str(wrong.error_message)
    number = flags.get_string_details(BANDIT, "mine", context("ann", own=3))
    assert "$.context.own" in str(number.error_message)
    assert flags.get_integer_details(BANDIT, 1, ann).error_code is ErrorCode.TYPE_MISMATCH
    refused = provided(served, None).get_string_details(BANDIT, "mine", ann)
    assert (refused.error_code, refused.value) == (ErrorCode.GENERAL, "mine")


def test_a_control_task_is_a_split_and_sides_are_found_by_their_names(served: Served) -> None:
    served.service.put_bandit(
        "numbers",
        BanditConfiguration(dimension=2, side_names=["age"], control_share=0.5),
    )
    served.service.put_items(
        "numbers", [Item(id="a", features=[1, 0]), Item(id="b", features=[0, 1])]
    )
    reasons = {}
    with httpx.Client(base_url=served.address, headers={"X-API-Key": served.key}) as http:
        for n in range(20):
            given = {"context": {"targetingKey": f"u{n}", "age": n / 20, "other": "x"}}
            found = http.post(f"{FLAGS}/numbers", json=given).json()
            reasons[found["reason"]] = found["metadata"]["control"]
        missing_side = http.post(f"{FLAGS}/numbers", json={"context": {"targetingKey": "new"}})
    assert reasons == {"SPLIT": True, "TARGETING_MATCH": False}
    assert served.service.task("numbers", "u10").side == [0.5]
    assert (missing_side.status_code, missing_side.json()["errorCode"]) == (400, "INVALID_CONTEXT")
    served.service.delete_bandit("numbers")


def test_all_flags_are_decided_once_for_a_context(served: Served) -> None:
    served.service.put_bandit("empty", BanditConfiguration(dimension=2))
    with httpx.Client(base_url=served.address, headers={"X-API-Key": served.key}) as http:
        given = {"context": {"targetingKey": "eve", "rain": True, "device": "phone"}}
        first = http.post(FLAGS, json=given)
        found = {flag["key"]: flag for flag in first.json()["flags"]}
        assert found["empty"]["errorCode"] == "INVALID_CONTEXT"
        assert found[BANDIT]["value"] in ("tea", "mug")
        tag = {"If-None-Match": first.headers["etag"]}
        again = http.post(FLAGS, json=given, headers=tag)
        assert (again.status_code, again.content) == (304, b"")
        assert again.headers["etag"] == first.headers["etag"]
        other = {"context": {**given["context"], "rain": False}}
        assert http.post(FLAGS, json=other, headers=tag).status_code == 200
        tag = {"If-None-Match": again.headers["etag"]}
        served.service.put_bandit("empty", BanditConfiguration(dimension=2, control_share=0.5))
        assert http.post(FLAGS, json=given, headers=tag).status_code == 200
        served.service.delete_bandit("empty")  # one flag less: the flags are others
        assert http.post(FLAGS, json=given, headers=tag).status_code == 200
        none = http.post(FLAGS, json={})
        assert (none.status_code, none.json()["errorCode"]) == (400, "TARGETING_KEY_MISSING")
        kind = {"Content-Type": "application/json; charset=utf-8"}
        broken = http.post(f"{FLAGS}/{BANDIT}", content=b"{", headers=kind)
        assert (broken.status_code, broken.json()["errorCode"]) == (400, "PARSE_ERROR")
        assert broken.json()["key"] == BANDIT
    assert httpx.post(served.address + FLAGS, json=given).status_code == 401


@pytest.mark.nightly
def test_the_provider_for_javascript(served: Served, tmp_path: Path) -> None:
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        missing("npm", "no npm here: install Node.js 20 or later")
    folder = shutil.copytree(JAVASCRIPT, tmp_path / "javascript")
    installed = subprocess.run(
        [npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    if installed.returncode:
        missing("npm", f"npm cannot install the provider: {installed.stderr[-500:]}")
    ended = subprocess.run(
        ["node", "exchange.js", served.address, served.key],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    (block,) = blocks.fences(blocks.text_of("service/other-clients.md"), "javascript")
    (folder / "page.js").write_text(block.replace("http://localhost:8000", served.address))
    page = subprocess.run(
        ["node", "page.js"],
        cwd=folder,
        env={**os.environ, "HEADSTART_KEY": served.key},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert page.stdout in ("tea paid\n", "mug paid\n")
    seen = json.loads(ended.stdout)
    assert seen["chosen"]["value"] == seen["chosen"]["variant"]
    assert seen["chosen"]["reason"] == "TARGETING_MATCH"
    record = served.record(seen["chosen"]["flagMetadata"]["decision"])
    assert (record.arm, record.task, record.value) == (seen["chosen"]["value"], "js-ann", 1.0)
    assert seen["outcome"] == "paid"
    codes = {name: each["errorCode"] for name, each in seen.items() if "errorCode" in each}
    assert codes == {
        "noFlag": "FLAG_NOT_FOUND",
        "noTask": "TARGETING_KEY_MISSING",
        "badContext": "INVALID_CONTEXT",
        "otherType": "TYPE_MISMATCH",
        "noKey": "GENERAL",
    }
    assert seen["byOtherHeader"]["value"] in ("tea", "mug")
