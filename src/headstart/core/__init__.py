"""The algebra: statistics of a task, priors, ridge estimates, and the task itself."""
