from docutils.nodes import Element

class pending_xref(Element): ...  # noqa: N801
