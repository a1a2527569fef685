"""Cases of other systems: the ancestor's tests, Spark SQL, events of a real agent."""
