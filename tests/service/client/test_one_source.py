"""Both clients are one source: the one without asyncio is generated from the other."""

from tools.sync_client import GENERATED, generated


def test_the_client_without_asyncio_is_the_generated_one() -> None:
    assert GENERATED.read_text() == generated(), "run make client"
