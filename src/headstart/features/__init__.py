"""Features: raw attributes of items, context and tasks become the numbers a bandit learns from."""

from headstart.features.attributes import Category, Date, Flag, Number, Tags, Vector
from headstart.features.inference import Report
from headstart.features.schema import EncodedItems, Features

__all__ = [
    "Category",
    "Date",
    "EncodedItems",
    "Features",
    "Flag",
    "Number",
    "Report",
    "Tags",
    "Vector",
]
