"""Jobs on a real Spark."""
