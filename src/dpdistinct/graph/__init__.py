"""From keys to curves: how many distinct elements are kept at every bound."""
