"""Features: raw attributes of items, context and tasks become the numbers a bandit learns from."""

from headstart.features.attributes import Category, Date, Flag, Number, Tags, Vector
from headstart.features.inference import Report
from headstart.features.schema import EncodedItems, Features
from headstart.features.transformer import Schema as Schema
from headstart.features.transformer import Transformed, Transformer, schema_of

__all__ = [
    "Category",
    "Date",
    "EncodedItems",
    "Features",
    "Flag",
    "Number",
    "Report",
    "Tags",
    "Transformed",
    "Transformer",
    "Vector",
    "schema_of",
]
