"""A study goes to TOML and comes back, and a mistake in it is named."""

import pickle
import string
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tomli_w
from hypothesis import given
from hypothesis import strategies as st
from tests.studies.tiny import SEQUENCE, TESTED, play_shard

import headstart as hs
import headstart.environments
import headstart.policies
import headstart.priors
from headstart.paper.studies import lastfm, movielens, synthetic
from headstart.specs import Spec
from headstart.studies.comparisons import default_reference
from headstart.studies.study import LearnerSpec, Study
from headstart.studies.toml import every_from_toml, from_file, from_toml

words = st.text(string.ascii_letters + "λ é'-", min_size=1, max_size=12)
counts = st.integers(1, 10**6)
several = st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=5, unique=True).map(tuple)


@given(
    name=words,
    about=st.text(max_size=20),
    counted=st.fixed_dictionaries(
        dict.fromkeys(("horizon", "replications", "shard", "tasks"), counts)
    ),
    grid=several,
    sizes=st.lists(st.integers(0, 500), min_size=1, max_size=4, unique=True).map(tuple),
    bound=st.floats(0, 1e3),
    tested=st.booleans(),
)
def test_toml_round_trip(
    name: str,
    about: str,
    counted: dict[str, int],
    grid: tuple[float, ...],
    sizes: tuple[int, ...],
    bound: float,
    tested: bool,
) -> None:
    bound_spec = Spec(kind="NormBound", settings={"parameter_bound": bound})
    study = Study(
        name=name,
        about=about,
        environment=Spec(
            kind="Synthetic",
            settings={
                "dimension": 2,
                "tasks": Spec(kind="Gaussian", settings={"mean": [1.0, 2.0]}),
            },
        ),
        learners=(
            LearnerSpec(name="OPT"),
            LearnerSpec(
                name=name + "!",
                policy=Spec(kind="OFUL", settings={"bias_error": bound_spec}),
                prior=Spec(kind="Fixed", settings={"regularization": "@regularization"}),
            ),
        ),
        regularization=grid,
        protocol="train-then-test" if tested else "sequence",
        **(counted if not tested else {"horizon": counted["horizon"], "training_tasks": sizes}),
    )
    back = from_toml(study.to_toml())
    assert back == study
    assert back.about == study.about
    assert pickle.loads(pickle.dumps(study)) == study


def test_an_agent_is_a_learner_of_a_study() -> None:
    agent = Spec(kind="MetaLinEXP3", settings={"start": "none", "arm_bound": "@arm_bound"})
    study = Study(
        name="agents",
        environment=Spec(kind="benchmarks.ellipsoid:Ellipsoid"),
        learners=(LearnerSpec(name="LinEXP3", method=agent),),
        horizon=4,
        tasks=2,
        replications=3,
    )
    assert from_toml(study.to_toml()) == study
    played = play_shard(study, 0)
    assert list(played["learner"].to_numpy()) == ["LinEXP3"]
    assert (played["regret"] >= 0).all()
    with pytest.raises(ValueError, match=r"method must be one of MetaLinEXP3, MetaTS, "):
        from_toml(_broken(learners=[{"name": "A", "method": "OFUL"}]))
    with pytest.raises(ValueError, match=r"'A' method: start must be one of .* got 'warm'"):
        from_toml(_broken(learners=[{"name": "A", "method": "MetaLinEXP3", "start": "warm"}]))
    with pytest.raises(ValueError, match=r"policy .* is not a setting of MetaTS"):
        from_toml(_broken(learners=_learner(method="MetaTS")))
    with pytest.raises(ValueError, match="'A' must have a policy with a prior, or a method"):
        replace(SEQUENCE.learners[1], name="A", method=Spec(kind="MetaTS"))


@pytest.mark.parametrize("study", [synthetic(), lastfm(), movielens(), SEQUENCE, TESTED])
def test_named_studies_round_trip(study: Study) -> None:
    assert from_toml(study.to_toml()) == study


def _broken(**changes: object) -> str:
    table = SEQUENCE.plain() | changes
    return tomli_w.dumps({name: value for name, value in table.items() if value is not None})


def _learner(**given: object) -> list[dict[str, object]]:
    return [{"name": "A", "policy": {"class": "OFUL"}, "prior": {"class": "Fixed"}} | given]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (_broken(horizon="long"), r"horizon must be an integer of at least 1, got 'long'"),
        (_broken(horizon=None), r"horizon is missing"),
        (_broken(horizont=3), r"horizont = 3 is not a key of a study; it has .*horizon"),
        (_broken(seed=-1), r"seed must be an integer of at least 0, got -1"),
        (
            _broken(protocol="both"),
            r"protocol must be one of sequence, train-then-test, got 'both'",
        ),
        (_broken(regularization=[1.0, 0.0]), r"regularization must be a finite number above 0"),
        (_broken(regularization=1.0), r"regularization must be a list of one or more .* got 1.0"),
        (_broken(regularization=[]), r"regularization must be a list"),
        (_broken(training_tasks=[1]), r"training_tasks = \[1\] is for protocol 'train-then-test'"),
        (_broken(name="a/b"), r"name must be a string that can name a folder, got 'a/b'"),
        (
            _broken(environment={"class": "Nowhere"}),
            r"environment.class must be one of .*Synthetic",
        ),
        (_broken(environment={"reward": "x"}), r"environment.class must be the name of a class"),
        (_broken(environment=3), r'environment must be a table with a "class", got 3'),
        (
            _broken(environment={"class": "Synthetic", "arms": 5}),
            r"environment.arms = 5 is not a setting of Synthetic; it takes .*n_arms",
        ),
        (_broken(learners=3), r"learners must be a list of tables, got 3"),
        (_broken(learners=[3]), r"learners\[0\] must be a table, got 3"),
        (_broken(learners=[]), r"learners must be one or more"),
        (_broken(learners=[{"prior": {"class": "Fixed"}}]), r"learners\[0\].name is missing"),
        (_broken(learners=_learner(rior=1)), r"learners\[0\].rior = 1 is not a key of a learner"),
        (
            _broken(learners=[{"name": "A", "policy": {"class": "OFUL"}}]),
            r"learner 'A' must have both a policy and a prior, or neither",
        ),
        (_broken(learners=_learner() * 2), r"learners must be one or more with different names"),
        (
            _broken(learners=_learner(policy={"class": "NormBound", "parameter_bound": 1.0})),
            r"learner 'A' policy.class must be one of .*OFUL.*, got 'NormBound'",
        ),
        (
            _broken(learners=_learner(policy={"class": "OFUL", "noise_scale": -1})),
            r"learner 'A' policy: noise_scale must be .* got -1",
        ),
        (
            _broken(learners=_learner(prior={"class": "no_such:Thing"})),
            r"learner 'A' prior.class 'no_such:Thing' cannot be imported",
        ),
        ("name = ", "Invalid value"),
    ],
)
def test_a_mistake_names_the_key_the_value_and_what_was_expected(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        from_toml(text)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"nowhere\.toml"):
        from_file(tmp_path / "nowhere.toml")


def test_every_public_policy_and_prior_can_be_named() -> None:
    for package, method in ((headstart.policies, "scores"), (headstart.priors, "absorb")):
        for name in package.__all__:
            if hasattr(getattr(package, name), method):
                kind = "policy" if method == "scores" else "prior"
                learner = _learner(**{kind: {"class": name}})
                assert from_toml(_broken(learners=learner)).learners[0].name == "A"


def test_ones_own_ratings_are_an_environment(tmp_path: Path) -> None:
    rows = [f"{u},{i},{1 + (u * i) % 5}" for u in range(8) for i in range(1, 13)]
    file = tmp_path / "ratings.csv"
    file.write_text("\n".join(["user,item,stars", *rows]))
    settings = {"path": str(file), "rating": "stars", "dimension": 3, "n_arms": 2}
    spec = Spec(kind="Ratings.from_file", settings=settings)
    study = replace(SEQUENCE, environment=spec, replications=2, tasks=2)
    assert from_toml(study.to_toml()) == study
    assert play_shard(study, 0).sizes["task"] == 2
    with pytest.raises(ValueError, match=r"environment\.paths = 'x' is not a setting of Ratings"):
        replace(study, environment=replace(spec, settings={"paths": "x"}))
    with pytest.raises(ValueError, match="must be a class or one of its class methods"):
        replace(study, environment=Spec(kind="Ratings.no_such"))


METHODS = """
name = "methods"
horizon = 3
tasks = 2
replications = 2
regularization = [0.5, 2.0]
learners = [
    { method = "ada_ts", task_variance = 1.0 },
    { name = "mine", method = "headstart", policy = { class = "BayesUCB", z = 2.0 } },
    { method = "itl", regularization = "@regularization" },
    { method = "oracle", mean_parameter = "@mean_parameter" },
]
[environment]
class = "Synthetic"
dimension = 3
"""


def test_published_methods_play_as_their_functions_do() -> None:
    study = from_toml(METHODS)
    assert from_toml(study.to_toml()) == study
    assert [one.name for one in study.learners] == ["AdaTS", "mine", "ITL", "Oracle"]
    assert study.swept == ["ITL"]
    assert default_reference(study) == "ITL"
    policy = hs.policies.BayesUCB(z=2.0)
    environment = hs.environments.Synthetic(dimension=3)
    objects = Study.of(
        environment,
        [
            hs.learners.ada_ts(task_variance=1.0),
            hs.learners.headstart(policy=policy, name="mine"),
            LearnerSpec.of(hs.learners.itl(), regularization="@regularization"),
            hs.learners.oracle(mean_parameter=environment.mean_parameter),
        ],
        horizon=3,
        tasks=2,
        replications=2,
        regularization=(0.5, 2.0),
    )
    np.testing.assert_array_equal(
        play_shard(study, 0)["reward"].to_numpy(), play_shard(objects, 0)["reward"].to_numpy()
    )
    frame = study.to_frame()
    assert frame["method"].tolist() == ["ada_ts", "headstart", "itl", "oracle"]
    assert objects.to_frame()["policy"].tolist()[1] == "BayesUCB"
    assert "<table" in study._repr_html_()


def test_names_that_would_share_random_numbers_are_refused() -> None:
    # CRC-32 of these words is the same.
    learners = tuple(replace(SEQUENCE.learners[-1], name=name) for name in ("plumless", "buckeroo"))
    with pytest.raises(ValueError, match=r"'plumless @ .*' and 'buckeroo @ .*' would get the same"):
        replace(SEQUENCE, learners=learners)


def test_a_sweep_is_a_study_for_each_combination_of_settings() -> None:
    kinds = Spec(kind="Gaussian", settings={"variance": 1.0})
    study = replace(SEQUENCE, environment=SEQUENCE.environment.replaced("tasks", kinds))
    text = study.to_toml() + '[sweep]\nn_arms = [2, 3]\n"tasks.variance" = [0.5, 2.0]\n'
    found = every_from_toml(text)
    assert [
        (one.environment_built().n_arms, one.environment_built().tasks.variance)  # type: ignore[attr-defined]
        for one in found
    ] == [(2, 0.5), (2, 2.0), (3, 0.5), (3, 2.0)]
    assert found[1].name == "tiny, n_arms=2, tasks.variance=2.0"
    assert replace(found[1], name="tiny", environment=study.environment) == study
    with pytest.raises(ValueError, match="sweep makes several studies"):
        from_toml(text)
    for wrong, message in (
        ("n_arms = 3", r"sweep.n_arms must be a list of values, got 3"),
        ("no_such = [1]", "no_such = 1 is not a setting of Synthetic"),
        ('"reward.a" = [1]', "reward must be a table with a class"),
    ):
        with pytest.raises(ValueError, match=message):
            every_from_toml(study.to_toml() + f"[sweep]\n{wrong}\n")


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        ('method = "nope"', r"learners\[0\].method must be one of MetaLinEXP3, .* got 'nope'"),
        ("method = 3", r"learners\[0\].method must be the name of a method, got 3"),
        ('method = "ada_ts", scale = 1', "scale = 1 is not a setting of ada_ts; it takes"),
        ('method = "oracle"', "missing 1 required keyword-only argument: 'mean_parameter'"),
        ('method = "itl", policy = { class = "No" }', "method.policy.class must be one of"),
        ('method = "itl", regularization = -1', "regularization must be above 0"),
    ],
)
def test_a_mistake_in_a_method_is_named(learner: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        from_toml(
            'name = "m"\nhorizon = 3\nenvironment.class = "Synthetic"\n'
            f"learners = [{{ {learner} }}]"
        )


def test_a_study_of_objects_is_made_with_of() -> None:
    environment, learner = hs.environments.Synthetic(), hs.learners.itl()
    wrong: Any = {"environment": environment, "learners": [learner]}
    with pytest.raises(ValueError, match=r"got Synthetic\(.*; Study.of takes environments"):
        Study(name="m", horizon=3, **wrong)

    @dataclass(frozen=True)
    class Local(hs.environments.Synthetic):
        pass

    with pytest.raises(ValueError, match="Local must be defined in a module that others can"):
        Study.of(Local(), [learner], horizon=3)
