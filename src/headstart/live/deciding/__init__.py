"""Deciding: the scores of arms, the choice among them, its propensity. Private to `live`."""
