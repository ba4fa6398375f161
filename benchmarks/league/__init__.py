"""The league: regret of every learner in every environment, paired and cross-fitted."""
