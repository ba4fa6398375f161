"""A bandit's configuration has the settings of live use that a store has too."""

from headstart.live.settings import Settings, names
from headstart.service.messages import BanditConfiguration


def test_settings_have_the_names_and_defaults_of_live_use() -> None:
    defaults = Settings()
    configuration = BanditConfiguration(dimension=1)
    for name in names(stored=True):
        assert getattr(configuration, name) == getattr(defaults, name), name
