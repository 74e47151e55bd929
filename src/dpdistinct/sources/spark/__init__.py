"""Tables on Apache Spark."""
