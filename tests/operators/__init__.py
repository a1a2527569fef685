"""What an operator sees of a server, and how it is deployed."""
