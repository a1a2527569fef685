"""Delta and Iceberg for Spark, as jars."""
