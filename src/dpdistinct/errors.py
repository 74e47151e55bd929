"""What can go wrong. A message names the parameter and the way out, and never the data."""


class DpdistinctError(Exception):
    """Every error that dpdistinct raises on purpose."""


class ParameterError(DpdistinctError, ValueError):
    """A parameter is outside what is allowed. Raised before any data is read."""


class InputError(DpdistinctError, ValueError):
    """The data could not be read. The text is the same whatever the data is."""
