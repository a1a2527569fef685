"""What would the contract answer: a slow, independent reading of it, to compare the server with."""
