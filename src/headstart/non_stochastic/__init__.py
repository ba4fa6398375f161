"""Non-stochastic tasks: the published table again, and how regret grows against an adversary."""
