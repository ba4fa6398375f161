"""Would a warm start pay on one's own log? `headstart.trial` answers from past decisions."""

from headstart.trials.earnings import Earnings
from headstart.trials.page import Trial
from headstart.trials.shares import Shares
from headstart.trials.trial import trial
from headstart.trials.verdict import Curves

__all__ = ["Curves", "Earnings", "Shares", "Trial", "trial"]
