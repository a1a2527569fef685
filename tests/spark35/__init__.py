"""The jobs on Spark 3.5: `make tests-spark35` runs them in an environment of its own."""
