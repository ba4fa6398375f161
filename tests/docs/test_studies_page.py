"""The study in the documentation is one, and it runs."""

import re
from dataclasses import replace
from pathlib import Path

from headstart.studies.shards import play_shard
from headstart.studies.toml import from_toml


def test_the_study_in_the_documentation_runs() -> None:
    text = (Path(__file__).parents[2] / "docs" / "studies.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```toml\n(.*?)```", text, flags=re.DOTALL)
    study = from_toml(block)
    played = play_shard(replace(study, replications=2, horizon=3), 0)
    assert played["learner"].to_numpy().tolist() == [learner.name for learner in study.learners]
    assert played["trained"].to_numpy().tolist() == [0, 1, 10]
