"""The command line: open, call, print."""
