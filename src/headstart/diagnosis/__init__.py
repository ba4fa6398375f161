"""Whether a warm start reduces regret in a study, and why."""

from headstart.diagnosis.diagnosis import Diagnosis
from headstart.diagnosis.recorder import record

__all__ = ["Diagnosis", "record"]
