"""The jobs on Spark 3.5: `make spark35` runs them in an environment of its own."""
