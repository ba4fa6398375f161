"""What `make docs` generates and checks; nothing here needs Sphinx but `extension`."""
