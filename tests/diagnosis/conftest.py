import pytest
import xarray as xr
from tests.diagnosis.small import small_recording


@pytest.fixture(scope="session")
def recorded() -> xr.Dataset:
    return small_recording()
