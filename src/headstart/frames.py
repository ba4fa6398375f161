"""Tables of results: records as frames of pandas, and frames in notebooks."""

import html
from collections.abc import Iterable, Mapping

import pandas as pd


def frame(records: Iterable[Mapping[str, object]], index: str | None = None) -> pd.DataFrame:
    """A row per record; one of its columns may be the index."""
    made = pd.DataFrame(list(records))
    return made if index is None or made.empty else made.set_index(index)


def as_html(table: pd.DataFrame, title: str = "") -> str:
    """A table for notebooks, with four digits, below its title."""
    above = f"<p>{html.escape(title)}</p>" if title else ""
    return above + str(table.to_html(float_format="{:.4g}".format, na_rep="–", border=0))
