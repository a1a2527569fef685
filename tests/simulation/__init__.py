"""Does recording survive anything: the real store over a simulated table, under a hostile scheduler."""
