"""From any table to keys. What a value is follows from its column's type and from the value alone."""
