"""Views of a store: the part of it that one principal may see and change."""
