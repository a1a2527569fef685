"""Views of a store: the part that one principal may see and change."""
