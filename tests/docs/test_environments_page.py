"""The code of docs/environments.md runs, and prints what the page shows."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "environments.md"


def test_the_page_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), flags=re.M | re.S)
    names: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, PAGE.name, "exec"), names)
    printed = re.search(r"^```\n(unit_arms.*?)^```", PAGE.read_text(), flags=re.M | re.S)
    assert printed is not None
    said = capsys.readouterr().out
    assert re.sub(r"[-0-9.]+", "#", said) == re.sub(r"[-0-9.]+", "#", printed[1])
    # Another LAPACK may turn a tie; this much is far from changing what the page concludes.
    now, then = (
        np.array(re.findall(r"-?[0-9]+\.[0-9]+", text), dtype=np.float64)
        for text in (said, printed[1])
    )
    np.testing.assert_allclose(now, then, atol=0.2)
