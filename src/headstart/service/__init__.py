"""The decision service: live use over HTTP, durable, exactly once, in any number of processes."""
