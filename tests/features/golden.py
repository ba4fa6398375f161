"""Golden vectors: a schema, raw rows, and the bits of their features, in golden.json.

`python -m tests.features.golden` writes the file again. A change of it is another version of
every schema: what bandits have learned does not fit it any more.
"""

import json
from pathlib import Path
from typing import Any

from tests.features.schemas import WIDE

FILE = Path(__file__).with_name("golden.json")

# Rows as JSON has them.
ROWS: list[dict[str, Any]] = [
    {
        "item": {
            "price": 19.99, "weight": 2, "age": 2.5, "brand": "acme",
            "maker.country": "NL", "genres": ["Action", "Drama"], "words": ["tea", "hot", "sweet"],
            "embedding": [0.1, -0.25, 3.0], "new": True,
        },
        "context": {"device": "phone", "hour": 21, "at": "2024-05-01T21:30:00"},
        "about": {"country": "NL", "income": 41.5},
    },
    {
        "item": {
            "price": -4.0, "weight": 1e6, "age": 0.999, "brand": "Čapek",
            "maker.country": "日本", "genres": ["Comedy"], "words": [],
            "embedding": [1e-7, 0.0, -1.0], "new": False,
        },
        "context": {"device": "watch", "hour": 7.25, "at": "1969-12-31T23:59:59.5"},
        "about": {"country": "FR", "income": None},
    },
    {
        "item": {
            "price": None, "weight": None, "age": None, "brand": None, "maker.country": None,
            "genres": None, "words": None, "embedding": None, "new": None,
        },
        "context": {"device": None, "hour": None, "at": None},
        "about": {"country": None, "income": None},
    },
    {
        "item": {
            "price": 0.0, "weight": 3.0, "age": 10, "brand": "3", "maker.country": "3",
            "genres": ["Action", "Comedy", "Action", "Western"], "words": ["a=b", "×"],
            "embedding": [0.3333333333333333, 2.5, 1000.0], "new": None,
        },
        "context": {"device": "desktop", "hour": -1, "at": "2000-02-29T00:00:00"},
        "about": {"country": "BE", "income": 30.0},
    },
]  # fmt: skip


def bits(numbers: Any) -> list[str]:
    """Floats in hexadecimal."""
    return [float(number).hex() for number in numbers]


def written() -> dict[str, Any]:
    """What the file holds."""
    vectors = [
        {
            **row,
            "x": bits(WIDE.encode(row["item"], row["context"], row["about"])),
            "z": bits(WIDE.encode_about(row["about"])),
        }
        for row in ROWS
    ]
    return {"schema": WIDE.plain(), "columns": list(WIDE.columns), "vectors": vectors}


if __name__ == "__main__":
    text = json.dumps(written(), ensure_ascii=False, indent=1)
    FILE.write_text(text + "\n", encoding="utf-8")
