"""A page of one's own on this machine: choose, see, release, account. It decides nothing about privacy."""
