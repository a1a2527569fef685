"""Oracle: a slow, independent implementation of the contract to compare the server with."""
