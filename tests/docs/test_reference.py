"""Every public name has a docstring, what a user calls lists its parameters, and examples run."""

import doctest
import importlib
import inspect
import os
import pkgutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from docs.building import docstrings, parameters, public
from tests.needs import missing

import headstart

pytestmark = pytest.mark.slow

# What reads published data is run only where that data is.
NEEDS_DATA = {"headstart.environments.ratings.lastfm_movielens"}
DATA = Path(os.environ.get("HEADSTART_DATA", "nowhere"))


def modules() -> Iterator[str]:
    """All modules of headstart, without importing them."""
    for found in pkgutil.walk_packages(headstart.__path__, "headstart."):
        if not found.name.endswith("__main__"):
            yield found.name


def source(module: str) -> str:
    spec = importlib.util.find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).read_text(encoding="utf-8")


WITH_EXAMPLES = ["headstart", *(name for name in modules() if ">>> " in source(name))]


@pytest.mark.parametrize("module", WITH_EXAMPLES)
def test_examples_run(module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if module in NEEDS_DATA and not (DATA / "ml-1m").is_dir():
        missing("data", f"the MovieLens data is not at {DATA}: set HEADSTART_DATA")
    monkeypatch.chdir(tmp_path)
    given = {"hs": headstart, "np": np}
    failed, tried = doctest.testmod(importlib.import_module(module), extraglobs=given)
    assert failed == 0
    assert tried > 0 or module == "headstart"


def test_every_public_name_has_a_docstring_and_those_of_headstart_an_example() -> None:
    assert public.without_docstring() == []
    assert public.without_example() == []


def test_every_package_with_public_names_is_in_the_reference() -> None:
    """These list names for other parts of the library and not for users."""
    private = {"headstart.kernels", "headstart.live.stored", "headstart.service.dashboard"}
    # Of packages within packages, some names are offered by the outer one.
    within = {"headstart.environments.ratings", "headstart.priors.hierarchical"}
    listing = {name for name in modules() if "\n__all__" in source(name)}
    assert listing - private - within == set(public.MODULES) - {"headstart", "headstart_client"}


def test_a_name_without_example_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(headstart.Optimal, "__doc__", "OPT.")
    assert public.without_example() == ["headstart.Optimal"]
    monkeypatch.setattr(headstart.Optimal, "__doc__", None)
    assert "headstart.Optimal" in public.without_docstring()


def test_what_a_user_calls_lists_its_parameters_and_what_it_returns() -> None:
    assert parameters.problems() == []


def test_help_begins_with_names_of_types() -> None:
    assert parameters.written_out() == []


@pytest.mark.parametrize(
    ("removed", "put", "problem"),
    [
        ("horizon : int", "horizons : int", "does not list horizon"),
        ("horizon : int", "horizons : int", "lists horizons"),
        ("Returns\n-------", "Notes\n-----", "does not say what it returns"),
    ],
)
def test_a_parameter_without_its_line_is_found(
    monkeypatch: pytest.MonkeyPatch, removed: str, put: str, problem: str
) -> None:
    docstring = inspect.cleandoc(headstart.simulate.__doc__ or "")
    assert removed in docstring
    monkeypatch.setattr(headstart.simulate, "__doc__", docstring.replace(removed, put))
    assert f"headstart.simulate {problem}" in parameters.problems()


def test_a_name_of_two_modules_has_one_page() -> None:
    full = [name.full for name in public.documented_names()]
    assert len(full) == len(set(full))
    assert "headstart.MetaBandit" in full
    assert "headstart.live.MetaBandit" not in full


class Example:
    one: int  # beside it
    # Above it,
    # on two lines.
    two: float = 0.0
    three: str
    _hidden: int  # not shown


def test_comments_on_fields_are_shown() -> None:
    comments = docstrings.field_comments(Example)
    assert comments == {"one": "beside it", "two": "Above it, on two lines."}
    assert "    Beside it." in docstrings.fields_as_list(comments)
    assert docstrings.fields_as_list({}) == []


def test_signatures_have_no_module_names() -> None:
    long = "(x: ~numpy.dtype[Any], y: collections.abc.Mapping[str, float] = 'a.b', z: float = 1.5)"
    short = "(x: dtype[Any], y: Mapping[str, float] = 'a.b', z: float = 1.5)"
    assert docstrings.without_modules(long) == short


def test_every_module_of_the_reference_is_in_its_list() -> None:
    listed = (Path(__file__).parents[2] / "docs" / "reference" / "index.md").read_text()
    lines = listed.splitlines()
    assert [name for name in public.MODULES if f"../generated/api/{name}" not in lines] == []
