"""Attributes of users in the published data sets."""

from pathlib import Path

import numpy as np

from headstart.arrays import Floats
from headstart.datasets.locations import locate
from headstart.datasets.published import MOVIELENS

_N_OCCUPATIONS = 21


def movielens_users(data: str | Path | None = None) -> dict[int, Floats]:
    """MovieLens-1M's users.dat: by user, 1 if female, age in decades, 21 occupations as 0/1."""
    file = locate(MOVIELENS.folder, "users.dat", command=MOVIELENS.name, data=data)
    found = {}
    lines = file.read_bytes().decode("latin-1").splitlines()
    for number, line in enumerate(lines, start=1):
        parts = line.split("::")
        try:
            user, gender, age, occupation = int(parts[0]), parts[1], int(parts[2]), int(parts[3])
            if gender not in {"F", "M"} or not 0 <= occupation < _N_OCCUPATIONS:
                raise ValueError(line)
        except (ValueError, IndexError) as error:
            expected = "UserID::Gender::Age::Occupation::Zip-code"
            raise ValueError(
                f"{file}, line {number}: expected {expected!r}, got {line!r}"
            ) from error
        own = [float(gender == "F"), age / 10.0]
        found[user] = np.array([*own, *(np.arange(_N_OCCUPATIONS) == occupation)], dtype=np.float64)
    return found
