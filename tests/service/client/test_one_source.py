"""Both clients are one text: without `async` and `await` the one is the other."""

import ast
import inspect
from types import ModuleType

import pytest

from headstart.service.client import (
    asynchronous,
    asynchronous_parts,
    synchronous,
    synchronous_parts,
)

RENAMED = {
    "AsyncClient": "Client",
    "AsyncBandit": "Bandit",
    "AsyncItems": "Items",
    "AsyncJobs": "Jobs",
    "AsyncFits": "Fits",
    "AsyncBaseTransport": "BaseTransport",
    "AsyncIterator": "Iterator",
    "asyncio": "time",
    "aclose": "close",
    "__aenter__": "__enter__",
    "__aexit__": "__exit__",
    "__aiter__": "__iter__",
}


class Synchronous(ast.NodeTransformer):
    def visit_Await(self, node: ast.Await) -> ast.AST:
        return self.visit(node.value)  # type: ignore[no-any-return]

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        self.generic_visit(node)
        plain = {name: getattr(node, name) for name in node._fields}
        return ast.FunctionDef(**plain, lineno=0, col_offset=0)


def classes(module: ModuleType) -> dict[str, str]:
    """The classes of a module by name, as text without asyncio."""
    tree = Synchronous().visit(ast.parse(inspect.getsource(module)))
    for node in ast.walk(tree):
        for name, value in ast.iter_fields(node):
            if isinstance(value, str) and value in RENAMED:
                setattr(node, name, RENAMED[value])
    found = [each for each in tree.body if isinstance(each, ast.ClassDef)]
    for each in found:
        each.body = each.body[1:]  # examples in the docstring await, or do not
    return {each.name: ast.unparse(ast.fix_missing_locations(each)) for each in found}


@pytest.mark.parametrize(
    ("one", "other"),
    [(asynchronous, synchronous), (asynchronous_parts, synchronous_parts)],
)
def test_the_two_clients_are_one_text(one: ModuleType, other: ModuleType) -> None:
    assert len(classes(one)) >= 2
    assert classes(one) == classes(other)
