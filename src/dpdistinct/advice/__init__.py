"""What to expect of an answer, before any data is touched."""
