class Node:
    def astext(self) -> str: ...

class Element(Node):
    def __init__(
        self, rawsource: str = ..., *children: Node | str, **attributes: object
    ) -> None: ...

class literal(Element):  # noqa: N801
    def __init__(self, rawsource: str = ..., text: str = ..., **attributes: object) -> None: ...

class SkipNode(Exception): ...  # noqa: N818
