"""Experiments as data: studies, their shards, the runner, and the results on disk."""

from headstart.studies.comparisons import (
    Comparison,
    Comparisons,
    compare,
    compare_pairs,
)
from headstart.studies.folder import StudyFolder
from headstart.studies.results import at_best, at_training, independent, totals
from headstart.studies.runner import run
from headstart.studies.study import LearnerSpec, Study
from headstart.studies.summary import Summary
from headstart.studies.toml import every_from_file, every_from_toml, from_file, from_toml

__all__ = [
    "Comparison",
    "Comparisons",
    "LearnerSpec",
    "Study",
    "StudyFolder",
    "Summary",
    "at_best",
    "at_training",
    "compare",
    "compare_pairs",
    "every_from_file",
    "every_from_toml",
    "from_file",
    "from_toml",
    "independent",
    "run",
    "totals",
]
