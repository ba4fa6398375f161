"""Metrics of several processes at one port: whichever is asked shows all of them, each once."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from headstart.service.http.metrics import Metrics


def status(process: int) -> Callable[[], Mapping[str, object]]:
    return lambda: {"process": process, "rows": 10 + process}


def test_one_process_shows_those_beside_it(tmp_path: Path) -> None:
    first, second = (Metrics(status(n), tmp_path) for n in (0, 1))
    first.count("/v1/bandits", "GET", 200, 0.01)
    second.count("/v1/bandits", "GET", 200, 0.01)
    second.count("/v1/bandits", "GET", 200, 0.01)
    first.write()
    second.write()
    text = first.text().decode()
    label = 'method="GET",process="{}",route="/v1/bandits",status="200"'
    assert f"headstart_requests_total{{{label.format(0)}}} 1.0" in text
    assert f"headstart_requests_total{{{label.format(1)}}} 2.0" in text
    assert 'headstart_rows{process="0"} 10.0' in text
    assert 'headstart_rows{process="1"} 11.0' in text
    assert text.count("# TYPE headstart_requests_total counter") == 1
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    names = [line.rpartition(" ")[0] for line in lines]
    assert len(names) == len(set(names))


def test_a_process_that_is_gone_is_no_longer_shown(tmp_path: Path) -> None:
    first, second, third = (Metrics(status(n), tmp_path) for n in (0, 1, 2))
    second.write()
    third.start()
    third.stop()
    path = tmp_path / "1.json"
    os.utime(path, (path.stat().st_mtime - 60,) * 2)
    text = first.text().decode()
    assert 'process="0"' in text
    assert 'process="1"' not in text
    assert 'process="2"' not in text
    assert not (tmp_path / "2.json").exists()
