"""Consistency audit of a table: what each row needs of others, compared with what is stored."""
