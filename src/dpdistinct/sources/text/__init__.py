"""CSV, TSV and JSON lines."""
