"""Events of a real agent, and what must come of them."""
