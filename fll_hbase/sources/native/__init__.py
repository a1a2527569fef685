"""Our own documents: operations with origins, and the name-based form."""
