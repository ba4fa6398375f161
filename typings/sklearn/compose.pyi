from typing import Any, Self

class ColumnTransformer:
    def fit(self, X: Any) -> Self: ...  # noqa: N803 - their name
    def transform(self, X: Any) -> Any: ...  # noqa: N803 - their name
    def get_feature_names_out(self) -> Any: ...

def make_column_transformer(
    *transformers: tuple[Any, list[str]], verbose_feature_names_out: bool = ...
) -> ColumnTransformer: ...
