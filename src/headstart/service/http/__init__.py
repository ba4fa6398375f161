"""HTTP: the service's interface as JSON, its keys, and the way to its pages."""
