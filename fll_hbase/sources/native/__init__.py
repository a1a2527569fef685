"""Our own documents: operations with origins, and the name-based form of the first design."""
