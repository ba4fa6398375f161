"""Studies, results, figures."""
