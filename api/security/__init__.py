"""Access to the API: hosts, origins, credentials, rights and limits."""
