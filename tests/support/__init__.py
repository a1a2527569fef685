"""What tests share: servers, clients, documents, strategies and counters."""
