"""The client of a store in this process."""
