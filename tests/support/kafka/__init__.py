"""A real Kafka, and what Spark reads it with."""
