"""Does the table agree with itself: what each row needs of others, and what is there."""
