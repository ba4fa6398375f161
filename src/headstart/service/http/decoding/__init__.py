"""Decoding: from the bytes of a request to messages, with errors in words."""
