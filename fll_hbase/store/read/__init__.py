"""Reading: queries over windows of time, contents, events and the catalogue."""
