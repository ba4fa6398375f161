"""Results are never stale: what depends on changed code or data is played again, and said so."""

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from tests.rated import as_text, random_rows
from tests.studies.tiny import SEQUENCE

from headstart import own_code
from headstart.datasets.published import LASTFM, MOVIELENS
from headstart.plotting import plot_overview, write_study_report
from headstart.specs import Spec
from headstart.studies import runner
from headstart.studies.digests import sources
from headstart.studies.folder import StudyFolder
from headstart.studies.shards import play_agents
from headstart.studies.toml import from_file, of_results

pytestmark = pytest.mark.slow

STUDY = """
name = "own"
horizon = 6
tasks = 2
replications = 4
shard = 2

[environment]
class = "Synthetic"
dimension = 3

[[learners]]
name = "ITL"
policy = { class = "OFUL" }
prior = { class = "Fixed" }

[[learners]]
name = "mine"
policy = { class = "mine:Last" }
prior = { class = "Fixed" }
"""

# Plays the arm of a number that another file holds.
MINE = """
from dataclasses import dataclass
import numpy as np
from helper import position

@dataclass(frozen=True, kw_only=True)
class Last:
    def n_uniforms(self, n_arms, dimension):
        return 0

    def scores(self, estimates, uniforms):
        scores = np.zeros(estimates.predictions.shape)
        scores[..., position()] = 1.0
        return scores
"""
HELPER = "def position():\n    return {}\n"


@pytest.fixture
def file(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "study.toml").write_text(STUDY)
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "helper.py").write_text(HELPER.format(0))
    (tmp_path / "another.py").write_text("a = 1\n")
    yield tmp_path / "study.toml"
    for name in ("mine", "helper"):
        sys.modules.pop(name, None)


def _run(file: Path, workers: int = 1) -> tuple[xr.Dataset, list[str]]:
    told: list[str] = []
    found = runner.run(from_file(file), file.parent / "out", workers=workers, notify=told.append)
    return found, told


def _reward(results: xr.Dataset, learner: str) -> float:
    return float(results["reward"].sel(learner=learner).sum())


def test_own_classes_are_found_beside_the_study_file(file: Path) -> None:
    before = list(sys.path)
    found, told = _run(file)
    assert found["learner"].to_numpy().tolist() == ["ITL", "mine"]
    assert told == []
    assert sys.path == before
    assert sources(from_file(file))["learners"]["mine"].keys() == {"mine.py", "helper.py"}
    assert "ITL" not in sources(from_file(file))["learners"]


def test_edited_code_is_played_again_and_nothing_else(file: Path) -> None:
    first, _ = _run(file)
    # Of the same length and within the same second, where Python's own cache sees no edit.
    (file.parent / "helper.py").write_text(HELPER.format(1))
    second, told = _run(file, workers=2)
    assert told == [
        "helper.py changed since the results were made.",
        "mine: 2 of 2 parts are played.",
    ]
    assert _reward(first, "mine") != _reward(second, "mine")
    xr.testing.assert_identical(
        first["reward"].sel(learner="ITL"), second["reward"].sel(learner="ITL")
    )
    (file.parent / "another.py").write_text("a = 2\n")  # which nothing imports
    again, told = _run(file)
    assert told == []
    assert again.identical(second)
    # In one process the module is imported again.
    (file.parent / "helper.py").write_text(HELPER.format(0))
    back, _ = _run(file)
    assert _reward(back, "mine") == _reward(first, "mine")


def test_shards_of_other_code_are_not_joined(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    play = play_agents

    def stop(*given: object) -> dict[str, Any]:
        if given[1] == 1:
            raise KeyboardInterrupt
        return play(*given)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(runner, "play_agents", stop)
        with pytest.raises(KeyboardInterrupt):
            _run(file)
    (file.parent / "helper.py").write_text(HELPER.format(2))
    resumed, _ = _run(file)
    fresh = runner.run(from_file(file), file.parent / "fresh", workers=1)
    assert resumed.identical(fresh)


def test_code_that_changes_while_a_study_runs_is_noticed(file: Path) -> None:
    def edit(done: int, total: int) -> None:
        if done:
            (file.parent / "helper.py").write_text(HELPER.format(2))

    with pytest.raises(ValueError, match=r"helper.py changed while own was running"):
        runner.run(from_file(file), file.parent / "out", workers=1, progress=edit)
    found, _ = _run(file)
    assert found.identical(runner.run(from_file(file), file.parent / "fresh", workers=1))


def test_a_replaced_file_of_ratings_is_played_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    pytest.importorskip("pandas")
    ratings = tmp_path / "ratings.csv"

    def write(seed: int) -> None:
        lines = [",".join(map(str, row)) for row in random_rows(seed=seed)]
        ratings.write_text("\n".join(["user,item,rating", *lines]))

    study = replace(
        SEQUENCE,
        environment=Spec(
            kind="Ratings.from_file", settings={"path": "ratings.csv", "dimension": 2, "n_arms": 3}
        ),
        learners=SEQUENCE.learners[2:],
        replications=2,
    )
    write(1)
    first = runner.run(study, tmp_path / "out", workers=1)
    write(2)
    told: list[str] = []
    second = runner.run(study, tmp_path / "out", workers=1, notify=told.append)
    assert told == ["ratings.csv changed since the results were made."]
    assert not first["reward"].equals(second["reward"])
    assert second.identical(runner.run(study, tmp_path / "fresh", workers=1))


@pytest.mark.parametrize(
    ("name", "value", "what"),
    [
        ("code_digest", lambda: "other", "headstart's own code"),
        ("version", lambda name: f"{name} 99", "numpy, scipy, numba"),
    ],
)
def test_other_code_and_other_libraries_play_all_again(
    name: str,
    value: Callable[..., str],
    what: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    small = replace(SEQUENCE, replications=2)
    first = runner.run(small, tmp_path, workers=1)
    monkeypatch.setattr(f"headstart.studies.digests.{name}", value)
    told: list[str] = []
    second = runner.run(small, tmp_path, workers=1, notify=told.append)
    assert told == [f"{one} changed since the results were made." for one in what.split(", ")]
    assert len(list(tmp_path.glob("pieces/*/*.npz"))) == 2 * len(small.agents())
    np.testing.assert_array_equal(first["regret"], second["regret"])


def test_a_class_lists_the_files_it_reads(tmp_path: Path) -> None:
    (tmp_path / "weights.npy").write_bytes(b"1")
    (tmp_path / "reads.py").write_text(
        "from dataclasses import dataclass\n"
        "from pathlib import Path\n"
        "from headstart.environments import Synthetic\n"
        "@dataclass(frozen=True, kw_only=True)\n"
        "class Reads(Synthetic):\n"
        "    @staticmethod\n"
        "    def files(**settings):\n"
        "        return [Path(__file__).parent / 'weights.npy']\n"
    )
    study = replace(SEQUENCE, folder=str(tmp_path), environment=Spec(kind="reads:Reads"))
    found = sources(study)["environment"]
    assert found.keys() == {"reads.py", "weights.npy"}
    (tmp_path / "weights.npy").write_bytes(b"2")
    after = sources(study)["environment"]
    assert found["reads.py"] == after["reads.py"]
    assert found["weights.npy"] != after["weights.npy"]
    sys.modules.pop("reads", None)


def test_a_start_that_failed_does_not_block_its_folder(tmp_path: Path) -> None:
    wrong = Spec(kind="Fixed", settings={"bias": "@no_such"})
    broken = replace(
        SEQUENCE, seed=9, learners=(replace(SEQUENCE.learners[1], prior=wrong),), replications=2
    )
    with pytest.raises(ValueError, match="@no_such"):
        runner.run(broken, tmp_path / "out", workers=1)
    small = replace(SEQUENCE, replications=2)
    found = runner.run(small, tmp_path / "out", workers=1)
    assert found.identical(runner.run(small, tmp_path / "fresh", workers=1))


@pytest.mark.parametrize("kept", [[], ["study.toml"], ["study.toml", "pieces"]])
def test_a_folder_that_was_killed_early_is_not_stuck(kept: list[str], tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    if "study.toml" in kept:
        (out / "study.toml").write_text(replace(SEQUENCE, seed=7).to_toml())
    if "pieces" in kept:
        (out / "pieces" / "00").mkdir(parents=True)
        (out / "pieces" / "00" / "00.1.part").write_bytes(b"half")
    small = replace(SEQUENCE, replications=2)
    assert runner.run(small, out, workers=1).sizes["replication"] == 2


def test_published_data_are_digested(tmp_path: Path) -> None:
    rows = random_rows()
    for published, name in ((LASTFM, "Ratings.lastfm"), (MOVIELENS, "Ratings.movielens")):
        file = tmp_path / published.folder / published.file
        file.parent.mkdir()
        file.write_text(as_text(published, rows))
        spec = Spec(kind=name, settings={"data": str(tmp_path)})
        study = replace(SEQUENCE, environment=spec)
        before = sources(study)["environment"]
        assert before.keys() == {published.file}
        file.write_text(as_text(published, rows[1:]))
        assert sources(study)["environment"] != before


def test_a_file_in_the_place_of_the_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("no folder")
    with pytest.raises(ValueError, match=r"out cannot be a folder for results: it is a file"):
        StudyFolder(tmp_path / "out").open(SEQUENCE)
    with pytest.raises(ValueError, match=r"deeper cannot be a folder for results: .*out is a file"):
        runner.run(SEQUENCE, tmp_path / "out" / "deeper", workers=1)


def test_a_module_that_cannot_be_imported_is_named(file: Path) -> None:
    (file.parent / "mine.py").write_text("1 / 0\n")
    with pytest.raises(ValueError, match="'mine:Last' cannot be imported: ZeroDivisionError"):
        from_file(file)
    (file.parent / "mine.py").write_text("def f(:\n")
    with pytest.raises(ValueError, match="'mine:Last' cannot be imported: SyntaxError"):
        from_file(file)


def test_results_are_shown_when_ones_own_code_is_gone(file: Path) -> None:
    results, _ = _run(file)
    study = from_file(file)
    for name in ("mine.py", "helper.py"):
        (file.parent / name).unlink()
        del sys.modules[name.removesuffix(".py")]
    assert of_results(results) == study
    plot_overview(results, file.parent / "regret.png")
    written = write_study_report(file.parent / "out", file.parent / "report")
    assert "mine" in written.documents[0].read_text(encoding="utf-8")
    with pytest.raises(ValueError, match="'mine:Last' cannot be imported"):
        _run(file)


def test_modules_of_one_name_in_two_folders_are_told_apart(tmp_path: Path) -> None:
    for name, value in (("one", 1), ("two", 2)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "twin_module.py").write_text(f"value = {value}\n")
    for name, value in (("one", 1), ("two", 2), ("one", 1)):
        with own_code.importable(tmp_path / name):
            assert own_code.load("twin_module").value == value
    sys.modules.pop("twin_module")


def test_what_a_module_imports_counts_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {
        "study/bundle/__init__.py": "",
        "study/bundle/inner/__init__.py": "from . import relative",
        "study/bundle/inner/near.py": "def late():\n    from ..above import name",
        "study/bundle/inner/relative.py": "import importlib\nimportlib.import_module('by_text')",
        "study/bundle/above.py": "import elsewhere.part as other, numpy",
        "study/bundle/unused.py": "",
        "study/by_text.py": "import bundle.inner.near, json",
        "study/beside.py": "",
        "editable/elsewhere/__init__.py": "",
        "editable/elsewhere/part.py": "",
        "editable/elsewhere/unused.py": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.syspath_prepend(tmp_path / "editable")
    with own_code.importable(tmp_path / "study"):
        found = own_code.source_files("bundle.inner.near")
    counted = {name.partition("/")[2] for name in files}
    assert set(found) == counted - {"bundle/unused.py", "beside.py", "elsewhere/unused.py"}
    assert own_code.source_files("no_such_module") == {}
    assert own_code.source_files("headstart.policies.oful") == {}
    # Of an installed package its own files, not those of others beside it.
    names = {label.split("/")[0] for label in own_code.source_files("tomli_w")}
    assert names == {"tomli_w"}


# One's own class of every kind, in a module that takes a number from another module.
OWN = """
from dataclasses import dataclass, replace
import numpy as np
from headstart.environments import Synthetic
from headstart.priors import Fixed
from headstart.policies import OFUL
from own_helper import NUMBER

@dataclass(frozen=True, kw_only=True)
class Environment(Synthetic):
    def prepare(self, replications, rng):
        return super().prepare(replications, np.random.default_rng(NUMBER))

@dataclass(frozen=True, kw_only=True)
class Policy(OFUL):
    def n_uniforms(self, n_arms, dimension):
        return 0

    def scores(self, estimates, uniforms):
        scores = np.zeros(estimates.predictions.shape)
        scores[..., NUMBER] = 1.0
        return scores

@dataclass(frozen=True, kw_only=True)
class Prior(Fixed):
    def prior(self, memory):
        return replace(super().prior(memory), bias=np.full((2, 3), 10.0 * (2 * NUMBER - 1)))

@dataclass(frozen=True)
class Agent:
    name: str

    def n_uniforms(self, n_arms, dimension):
        return 0

    def begin(self, dimension, replications):
        return {"tasks": np.zeros(replications)}

    def play(self, state, rounds):
        while not rounds.over:
            rounds.choose(np.full(rounds.replications, NUMBER))
        return None

    def learn(self, state, played):
        return {"tasks": state["tasks"] + 1}
"""


@pytest.mark.parametrize(
    "spec",
    [
        'policy = { class = "own_parts:Policy" }\nprior = { class = "Fixed" }',
        'policy = { class = "Greedy" }\nprior = { class = "own_parts:Prior" }',
        'method = "own_parts:Agent"',
        None,
    ],
    ids=["policy", "prior", "agent", "environment"],
)
def test_an_edited_class_of_every_kind_is_played_again(spec: str | None, tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    learner = spec or 'policy = { class = "OFUL" }\nprior = { class = "Fixed" }'
    environment = "Synthetic" if spec else "own_parts:Environment"
    file.write_text(
        "name = 'own'\nhorizon = 6\ntasks = 2\nreplications = 2\nshard = 2\n"
        f"[environment]\nclass = '{environment}'\ndimension = 3\nreward = 'linear'\n"
        f"[[learners]]\nname = 'mine'\n{learner}\n"
    )
    (tmp_path / "own_parts.py").write_text(OWN)
    helper = tmp_path / "own_helper.py"
    rewards = []
    try:
        for number in (0, 1):
            helper.write_text(f"NUMBER = {number}\n")
            results, told = _run(file)
            rewards.append(_reward(results, "mine"))
            assert bool(told) == bool(number)
            assert [one.split()[0] for one in told[:1]] == ["own_helper.py"] * number
        assert rewards[0] != rewards[1]
        (tmp_path / "own_parts.py").write_text(OWN + "\n# Edited.\n")
        _, told = _run(file)
        assert told == ["own_parts.py changed since the results were made."]
        _, told = _run(file)
        assert told == []
    finally:
        for name in ("own_parts", "own_helper"):
            sys.modules.pop(name, None)


# An agent whose arm is a sum of four numbers, each in another place.
PLACES = """
from dataclasses import dataclass
from pathlib import Path
import numpy as np
from place_helper import imported

def function():
    return 0  # function

@dataclass(frozen=True)
class Agent:
    name: str
    file: str

    def n_uniforms(self, n_arms, dimension):
        return 0

    def begin(self, dimension, replications):
        return {}

    def play(self, state, rounds):
        arm = 0 + function() + imported() + int(Path(self.file).read_text())
        while not rounds.over:
            rounds.choose(np.full(rounds.replications, arm))

    def learn(self, state, played):
        return state
"""


@pytest.mark.nightly
def test_an_edit_in_any_place_reaches_a_dask_worker(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    module, helper = tmp_path / "places.py", tmp_path / "place_helper.py"
    data, file = tmp_path / "arm.txt", tmp_path / "study.toml"
    module.write_text(PLACES)
    helper.write_text("def imported():\n    return 0\n")
    data.write_text("0")
    file.write_text(
        "name = 'places'\nhorizon = 6\ntasks = 2\nreplications = 2\nshard = 2\n"
        "[environment]\nclass = 'Synthetic'\ndimension = 3\nn_arms = 6\nreward = 'linear'\n"
        f"[[learners]]\nname = 'mine'\nmethod = 'places:Agent'\nfile = '{data}'\n"
    )
    edits = {
        "agent": (module, "arm = 0", "arm = 1"),
        "function": (module, "return 0  # function", "return 1  # function"),
        "imported module": (helper, "return 0", "return 1"),
        "data": (data, "0", "1"),
    }
    rewards: list[float] = []
    try:
        # One worker, which has imported the modules before they are edited.
        with distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster:
            for path, before, after in [(module, "", ""), *edits.values()]:
                path.write_text(path.read_text().replace(before, after))
                results = runner.run(
                    from_file(file), tmp_path / "out", scheduler=cluster.scheduler_address
                )
                rewards.append(_reward(results, "mine"))
        assert len(set(rewards)) == 5
        fresh = runner.run(from_file(file), tmp_path / "fresh", workers=1)
        assert rewards[-1] == _reward(fresh, "mine")
    finally:
        for name in ("places", "place_helper"):
            sys.modules.pop(name, None)


def test_an_editable_package_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "elsewhere" / "src" / "editable_package"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "parts.py").write_text(MINE.replace("from helper", "from editable_package.helper"))
    (package / "helper.py").write_text(HELPER.format(0))
    # As pip does for an editable installation: the source folder is on the path.
    monkeypatch.syspath_prepend(package.parent)
    file = tmp_path / "study" / "study.toml"
    file.parent.mkdir()
    file.write_text(STUDY.replace("mine:Last", "editable_package.parts:Last"))
    first, _ = _run(file)
    (package / "helper.py").write_text(HELPER.format(1))
    second, told = _run(file)
    assert told[0] == "editable_package/helper.py changed since the results were made."
    assert _reward(first, "mine") != _reward(second, "mine")
    for name in [name for name in sys.modules if name.startswith("editable_package")]:
        del sys.modules[name]


def test_files_of_one_name_in_two_folders_are_both_digested(tmp_path: Path) -> None:
    (tmp_path / "pairs.py").write_text(
        "from dataclasses import dataclass\n"
        "from pathlib import Path\n"
        "from headstart.environments import Synthetic\n"
        "@dataclass(frozen=True, kw_only=True)\n"
        "class Pairs(Synthetic):\n"
        "    @staticmethod\n"
        "    def files(**settings):\n"
        "        return [Path(__file__).parent / name / 'weights.npy' for name in 'ab']\n"
    )
    for name in "ab":
        (tmp_path / name).mkdir()
        (tmp_path / name / "weights.npy").write_bytes(b"1")
    study = replace(SEQUENCE, folder=str(tmp_path), environment=Spec(kind="pairs:Pairs"))
    for name in "ab":
        before = sources(study)["environment"]
        (tmp_path / name / "weights.npy").write_bytes(b"2")
        assert sources(study)["environment"] != before
    sys.modules.pop("pairs", None)
