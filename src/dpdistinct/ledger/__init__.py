"""The account: a privacy budget that cannot be overspent by accident."""
