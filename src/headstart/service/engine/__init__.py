"""The engine of the service: requests become transactions, and tasks become priors."""
