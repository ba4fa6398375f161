"""The few parts of Dask that are used here; its own types leave these out."""

from collections.abc import Callable
from typing import Any

from dask import config as config

def delayed(value: Any) -> Callable[..., Any]: ...
def compute(*parts: Any) -> tuple[Any, ...]: ...
