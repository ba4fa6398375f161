"""The study and the code in the documentation run."""

import re
from dataclasses import replace

from tests.docs.blocks import DOCS, run

from headstart.studies.shards import play_shard
from headstart.studies.toml import from_toml

TEXT = (DOCS / "studies.md").read_text(encoding="utf-8")


def test_the_python_in_the_documentation_runs() -> None:
    assert len(run(TEXT)) == 1


def test_the_study_in_the_documentation_runs() -> None:
    (block,) = re.findall(r"```toml\n(.*?)```", TEXT, flags=re.DOTALL)
    study = from_toml(block)
    played = play_shard(replace(study, replications=2, horizon=3), 0)
    assert played["learner"].to_numpy().tolist() == [learner.name for learner in study.learners]
    assert played["trained"].to_numpy().tolist() == [0, 1, 10]
