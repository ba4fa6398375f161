"""What a recording says, by subject."""
