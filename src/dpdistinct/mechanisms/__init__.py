"""From curves to answers that may be published."""
