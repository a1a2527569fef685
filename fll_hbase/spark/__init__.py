"""Jobs on Spark: what is too much for one process, with the same rows as online."""
