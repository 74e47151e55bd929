"""Where tables are read from: one module for each kind of input."""
