from typing import Literal

def stringify_annotation(
    annotation: object,
    mode: Literal["fully-qualified-except-typing", "fully-qualified", "smart"] = ...,
    *,
    short_literals: bool = ...,
) -> str: ...
