"""Both clients are one text: without `async` and `await` the one is the other."""

import ast
import inspect
from types import ModuleType

from headstart.service.client import asynchronous, synchronous

RENAMED = {
    "AsyncClient": "Client",
    "AsyncBandit": "Bandit",
    "AsyncItems": "Items",
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


def normal(module: ModuleType) -> set[str]:
    tree = Synchronous().visit(ast.parse(inspect.getsource(module)))
    tree.body[0] = ast.Pass()  # the docstring
    for node in ast.walk(tree):
        for name, value in ast.iter_fields(node):
            if isinstance(value, str) and value in RENAMED:
                setattr(node, name, RENAMED[value])
    return {ast.unparse(ast.fix_missing_locations(each)) for each in _sorted(tree.body)}


def _sorted(body: list[ast.stmt]) -> list[ast.stmt]:
    for each in body:
        if isinstance(each, ast.ImportFrom | ast.Import):
            each.names.sort(key=lambda alias: alias.name)
    return body


def test_the_two_clients_are_one_text() -> None:
    assert normal(asynchronous) == normal(synchronous)
