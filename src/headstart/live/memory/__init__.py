"""The memory over all tasks, and how it comes up to date. Private to `live`."""
