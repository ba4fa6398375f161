"""Jobs: fits from logs, off-policy evaluation, and the priors that fits would give."""
