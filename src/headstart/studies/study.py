"""Study: an experiment as data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, Required, TypedDict, Unpack, cast, get_args

import pandas as pd
import tomli_w

from headstart import checks, own_code, specs
from headstart.frames import as_html, frame
from headstart.habits import hinted
from headstart.interfaces import Environment, Policy, PriorEstimator
from headstart.simulation.agent import Agent, AnyAgent
from headstart.simulation.learner import Learner, Optimal
from headstart.simulation.run import check_names
from headstart.specs import Spec

Protocol = Literal["sequence", "train-then-test"]

PROTOCOLS: tuple[Protocol, ...] = get_args(Protocol)

# Settings that only one of the protocols has.
PROTOCOL_OF: dict[str, Protocol] = {
    "tasks": "sequence",
    "training_tasks": "train-then-test",
    "test_tasks": "train-then-test",
    "keep_test_tasks": "train-then-test",
}

# Studies that differ in these cannot share a folder; anything else may change within one.
SAME_IN_FOLDER = (
    "environment",
    "protocol",
    "horizon",
    "tasks",
    "training_tasks",
    "test_tasks",
    "shard",
    "seed",
)

# Keys that a file omits if they have their defaults.
_LEFT_OUT = {"about", "keep_test_tasks"}

_FORBIDDEN = set('/\\:*?"<>|')


@dataclass(frozen=True, kw_only=True)
class LearnerSpec:
    """A learner of a study: a policy and a prior, a method, or none of these for OPT.

    Parameters
    ----------
    name : str
        The label in results.
    policy, prior : Spec, optional
        The two parts of a `Learner`, with settings.
    method : Spec, optional
        A name in `headstart.learners`, or an agent of another module, with settings.

    Examples
    --------
    >>> from headstart.specs import Spec
    >>> from headstart.studies import LearnerSpec
    >>> average = Spec(kind="Average", settings={"regularization": "@regularization"})
    >>> LearnerSpec(name="AVG", policy=Spec(kind="OFUL"), prior=average).swept
    True
    """

    name: str
    policy: Spec | None = None
    prior: Spec | None = None
    method: Spec | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise ValueError(f"a learner's name must be a string, got {self.name!r}")
        if (self.policy is None) != (self.prior is None):
            raise ValueError(
                f"learner {self.name!r} must have both a policy and a prior, or neither to be OPT"
            )
        if self.policy is not None and self.method is not None:
            raise ValueError(
                f"learner {self.name!r} must have a policy with a prior, or a method, not both"
            )
        for name in {"name", "method"} & set(self.method.settings if self.method else ()):
            raise ValueError(f"learner {self.name!r} method must have no setting {name!r}")

    @classmethod
    def of(
        cls, agent: AnyAgent, *, policy: Spec | None = None, **settings: specs.Setting
    ) -> LearnerSpec:
        """The spec of an agent.

        Parameters
        ----------
        agent : Agent
            Such as those of `headstart.learners`.
        policy : Spec, optional
            Replaces the learner's policy.
        **settings
            Replace the settings of its prior, or of an agent without a prior; use placeholders
            here.

        Returns
        -------
        LearnerSpec

        Examples
        --------
        >>> from headstart import learners
        >>> from headstart.studies import LearnerSpec
        >>> spec = LearnerSpec.of(learners.avg_oful(), regularization="@regularization")
        >>> spec.name, spec.prior.kind, spec.swept
        ('AVG-OFUL', 'Average', True)
        """
        if isinstance(agent, Optimal):
            return cls(name=agent.name)
        if isinstance(agent, Learner):
            prior = specs.describe(agent.prior, "priors", defaults=False)
            return cls(
                name=agent.name,
                policy=policy or specs.describe(agent.policy, "policies", defaults=False),
                prior=Spec(kind=prior.kind, settings={**prior.settings, **settings}),
            )
        spec = specs.describe(agent, "learners", defaults=False)
        kept = {name: value for name, value in spec.settings.items() if name != "name"}
        return cls(name=agent.name, method=Spec(kind=spec.kind, settings=kept | settings))

    @property
    def swept(self) -> bool:
        """Whether anything in it follows the grid of regularizations."""
        return any("regularization" in spec.placeholders() for spec in self.specs().values())

    def specs(self) -> dict[str, Spec]:
        """Its parts, by the package of headstart that has such classes."""
        parts = {"policies": self.policy, "priors": self.prior, specs.METHODS: self.method}
        return {package: spec for package, spec in parts.items() if spec is not None}

    def check(self) -> None:
        """Raise what `build` would raise, as far as known before the run."""
        if self.policy is not None and self.prior is not None:
            specs.check(self.policy, "policies", where=f"learner {self.name!r} policy")
            specs.check(self.prior, "priors", where=f"learner {self.name!r} prior")
        if self.method is not None:
            where = f"learner {self.name!r} method"
            specs.check(_named(self.method, self.name), specs.METHODS, where=where)

    def build(self, name: str, resolve: Callable[[str], object]) -> AnyAgent:
        """The learner, under another name."""
        where = f"learner {self.name!r}"
        if self.method is not None:
            named = _named(self.method, name)
            made = specs.build(named, specs.METHODS, where=f"{where} method", resolve=resolve)
            return cast(Agent, made)
        if self.policy is None or self.prior is None:
            return Optimal(name)
        policy = specs.build(self.policy, "policies", where=f"{where} policy", resolve=resolve)
        prior = specs.build(self.prior, "priors", where=f"{where} prior", resolve=resolve)
        return Learner(name, cast(Policy, policy), cast(PriorEstimator, prior))

    def plain(self) -> dict[str, object]:
        """As a TOML table."""
        table: dict[str, object] = {"name": self.name}
        if self.policy is not None and self.prior is not None:
            table |= {"policy": self.policy.plain(), "prior": self.prior.plain()}
        if self.method is not None:
            settings = dict(self.method.plain())
            table |= {"method": settings.pop("class"), **settings}
        return table

    def record(self) -> dict[str, object]:
        """Its parts, as a row of a table."""
        parts = (self.policy, self.prior, self.method)
        names = ("policy", "prior", "method")
        row: dict[str, object] = {"learner": self.name}
        for name, part in zip(names, parts, strict=True):
            row[name] = "" if part is None else part.kind
        return row


def _named(method: Spec, name: str) -> Spec:
    """A method with the name that it plays under."""
    return Spec(kind=method.kind, settings={**method.settings, "name": name})


class StudySettings(TypedDict, total=False):
    """The settings of a study besides its name, environment and learners."""

    horizon: Required[int]
    protocol: Protocol
    tasks: int
    training_tasks: tuple[int, ...]
    test_tasks: int
    regularization: tuple[float, ...]
    replications: int
    shard: int
    seed: int
    keep_test_tasks: bool
    about: str
    folder: str


@hinted
@dataclass(frozen=True, kw_only=True)
class Study:
    """An experiment: learners that play the same tasks, at every regularization of a grid.

    Parameters
    ----------
    name : str
        The name of the study.
    environment : Spec
        Where tasks come from.
    learners : tuple of LearnerSpec
        What is compared.
    horizon : int
        The number of rounds of a task.
    protocol : {"sequence", "train-then-test"}, default "sequence"
        Play tasks in a row with one memory (`simulate`), or test tasks from the memory after
        training tasks (`evaluate`).
    tasks : int, default 20
        The number of tasks in a sequence.
    training_tasks : tuple of int, default (10,)
        After how many training tasks to play the test tasks.
    test_tasks : int, default 10
        The number of test tasks.
    regularization : tuple of float, default (1.0,)
        The grid of λ.
    replications : int, default 100
        The number of independent repetitions.
    shard : int, default 25
        How many replications are played together, with a random stream derived from the seed and
        the shard's number.
    seed : int, default 0
        The seed.
    keep_test_tasks : bool, default False
        Whether results have every test task as well as their mean.
    about : str, optional
        A text about the study.
    folder : str, optional
        The folder of the study's file, where your own classes are found.

    Examples
    --------
    >>> from headstart.specs import Spec
    >>> from headstart.studies import LearnerSpec, Study
    >>> study = Study(
    ...     name="small",
    ...     environment=Spec(kind="Synthetic", settings={"reward": "linear"}),
    ...     learners=(LearnerSpec(name="OPT"),),
    ...     horizon=20,
    ... )
    >>> study.protocol, study.n_shards
    ('sequence', 4)
    >>> print(study.to_toml()[:14])
    name = "small"
    """

    name: str
    environment: Spec
    learners: tuple[LearnerSpec, ...]
    horizon: int
    protocol: Protocol = "sequence"
    tasks: int = 20
    training_tasks: tuple[int, ...] = (10,)
    test_tasks: int = 10
    regularization: tuple[float, ...] = (1.0,)
    replications: int = 100
    shard: int = 25
    seed: int = 0
    keep_test_tasks: bool = False
    about: str = field(default="", compare=False)
    folder: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name or set(self.name) & _FORBIDDEN:
            raise ValueError(f"name must be a string that can name a folder, got {self.name!r}")
        checks.one_of("protocol", self.protocol, PROTOCOLS)
        for f in fields(self):
            # Settings of the other protocol do not distinguish two studies.
            if PROTOCOL_OF.get(f.name, self.protocol) != self.protocol:
                object.__setattr__(self, f.name, f.default)
        for name in ("horizon", "tasks", "test_tasks", "replications", "shard"):
            checks.count(name, getattr(self, name))
        checks.count("seed", self.seed, least=0)
        if not isinstance(self.keep_test_tasks, bool):
            raise ValueError(f"keep_test_tasks must be true or false, got {self.keep_test_tasks!r}")
        sizes = tuple(
            checks.count("training_tasks", n, least=0) for n in self._listed("training_tasks")
        )
        grid = tuple(checks.positive("regularization", g) for g in self._listed("regularization"))
        object.__setattr__(self, "training_tasks", sizes)
        object.__setattr__(self, "regularization", grid)
        for what, kind in (
            (self.environment, Spec),
            *((one, LearnerSpec) for one in self.learners),
        ):
            if not isinstance(what, kind):
                raise ValueError(
                    f"Study takes specs, got {checks.short(what)}; Study.of takes "
                    "environments and learners as objects"
                )
        object.__setattr__(self, "learners", tuple(self.learners))
        names = [learner.name for learner in self.learners]
        if not names or len(set(names)) < len(names):
            raise ValueError(f"learners must be one or more with different names, got {names}")
        check_names(list(self.agents()))
        with own_code.importable(self.folder):
            specs.check_names(self.environment, "environments", where="environment")
            for learner in self.learners:
                learner.check()

    def _listed(self, name: str) -> tuple[Any, ...]:
        values = getattr(self, name)
        if not isinstance(values, list | tuple) or not values or len(set(values)) < len(values):
            raise ValueError(
                f"{name} must be a list of one or more different numbers, got {values!r}"
            )
        return tuple(values)

    @classmethod
    def of(
        cls,
        environment: Environment,
        learners: Sequence[AnyAgent | LearnerSpec],
        *,
        name: str = "study",
        **settings: Unpack[StudySettings],
    ) -> Study:
        """A study from objects such as `simulate` takes: dataclasses of plain values.

        Parameters
        ----------
        environment : Environment
            Where tasks come from.
        learners : sequence of Agent or LearnerSpec
            What is compared.
        name : str, default "study"
            The name of the study.
        **settings
            The other fields of `Study`.

        Returns
        -------
        Study

        Examples
        --------
        >>> from headstart.studies import Study
        >>> agents = [hs.learners.itl(), hs.learners.headstart()]
        >>> world = hs.environments.Synthetic(reward="linear")
        >>> study = Study.of(world, agents, horizon=20, replications=10)
        >>> [learner.name for learner in study.learners], study.environment.kind
        (['ITL', 'headstart'], 'Synthetic')
        """
        others: Any = settings
        return cls(
            name=name,
            environment=specs.describe(environment, "environments", defaults=False),
            learners=tuple(
                one if isinstance(one, LearnerSpec) else LearnerSpec.of(one) for one in learners
            ),
            **others,
        )

    def over(self, settings: Mapping[str, Sequence[specs.Setting]]) -> list[Study]:
        """The study in several environments: with every combination of values of its settings.

        Parameters
        ----------
        settings : mapping of str to sequence
            Values by setting; "tasks.variance" is a setting of the environment's `tasks`.

        Returns
        -------
        list of Study
            Their names are the study's, and the values.

        Examples
        --------
        >>> from headstart.studies import Study
        >>> study = Study.of(hs.environments.Synthetic(), [hs.learners.itl()], horizon=20)
        >>> [one.name for one in study.over({"noise_scale": [0.1, 0.5]})]
        ['study, noise_scale=0.1', 'study, noise_scale=0.5']
        """
        for name, values in settings.items():
            if not isinstance(values, list | tuple) or not values:
                raise ValueError(f"sweep.{name} must be a list of values, got {values!r}")
        studies = [self]
        for name, values in settings.items():
            studies = [
                replace(
                    study,
                    name=f"{study.name}, {name}={value}",
                    environment=study.environment.replaced(name, value),
                )
                for study in studies
                for value in values
            ]
        return studies

    def to_frame(self) -> pd.DataFrame:
        """A row per learner: its policy and prior, or its method."""
        return frame(learner.record() for learner in self.learners)

    def _repr_html_(self) -> str:
        return as_html(self.to_frame(), f"{self.name}: {self.environment.kind}, {self.protocol}")

    @property
    def n_shards(self) -> int:
        """The number of shards."""
        return -(-self.replications // self.shard)

    @property
    def swept(self) -> list[str]:
        """The names of the learners that follow the grid of regularizations."""
        return [learner.name for learner in self.learners if learner.swept]

    def in_shard(self, number: int) -> range:
        """The replications of a shard."""
        first = number * self.shard
        return range(first, min(first + self.shard, self.replications))

    def agent(self, learner: LearnerSpec, regularization: float) -> str:
        """The name under which a learner plays at a λ, which determines its random numbers.

        A learner without λ plays once, under the grid's first value.
        """
        value = regularization if learner.swept else self.regularization[0]
        return f"{learner.name} @ {value!r}"

    def agents(self) -> dict[str, tuple[LearnerSpec, float]]:
        """What plays, by name: each learner at each regularization, or once without λ."""
        return {
            self.agent(learner, value): (learner, value)
            for learner in self.learners
            for value in (self.regularization if learner.swept else self.regularization[:1])
        }

    def check_trained(self, trained: int | None) -> None:
        """Check that the study has results after this many training tasks."""
        sizes = self.training_tasks if self.protocol == "train-then-test" else (0,)
        if trained is not None and trained not in sizes:
            raise ValueError(f"trained must be one of {', '.join(map(str, sizes))}, got {trained}")

    def environment_built(self) -> Environment:
        """The environment, not yet prepared."""
        with own_code.importable(self.folder):
            built = specs.build(self.environment, "environments", where="environment")
        return cast(Environment, built)

    def plain(self) -> dict[str, object]:
        """As a TOML table, with only the settings that the protocol uses."""
        table: dict[str, object] = {}
        for f in fields(self):
            value = getattr(self, f.name)
            if (
                f.name in {"environment", "learners", "folder"}
                or PROTOCOL_OF.get(f.name, self.protocol) != self.protocol
            ):
                continue
            if value == f.default and f.name in _LEFT_OUT:
                continue
            if isinstance(value, Spec):
                table[f.name] = value.plain()
            else:
                table[f.name] = list(value) if isinstance(value, tuple) else value
        table["environment"] = self.environment.plain()
        table["learners"] = [learner.plain() for learner in self.learners]
        return table

    def to_toml(self) -> str:
        """The text of a study file."""
        return tomli_w.dumps(self.plain())
