"""Whether a warm start pays in a study, and why."""
