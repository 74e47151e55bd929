"""The paper's experiments: its numbers as rows of data, run through dpdistinct and compared."""
