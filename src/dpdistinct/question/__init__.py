"""What is asked, how the data are written, with what means: checked once, before any data is touched."""
