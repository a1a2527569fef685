"""Every engine keeps the contract of the Table interface and its own."""
