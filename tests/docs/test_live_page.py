"""The how-to runs as it is printed, and shows what it says."""

import os
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("HEADSTART_DATA", ROOT.parent / "shared" / "data"))
NEEDED = DATA / "hetrec2011-lastfm-2k" / "user_artists.dat"


def test_the_how_to_on_live_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not NEEDED.is_file():
        reason = f"the LastFM data is not at {NEEDED}: set HEADSTART_DATA"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    monkeypatch.setenv("HEADSTART_DATA", str(DATA))
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / "live.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert len(blocks) >= 6
    names: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, "docs/live.md", "exec"), names)
    assert (tmp_path / "live.png").is_file()
    zero, learning, warm = names["rewards"].values()
    # The page says that learning from others adds about 0.084 ± 0.008 per round, with users paired,
    # and that the log adds nothing to learning from user to user (0.001 ± 0.005).
    for taught in (learning, warm):
        assert (taught - zero).mean() > 0.04
    assert abs((warm - learning).mean()) < 0.02
