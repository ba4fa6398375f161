from headstart.service.store.database import Database


def test_opens(store: str) -> None:
    for _ in range(2):
        database = Database.open(store)
        database.close()
