"""Exactly which calls two tables decide differently, with a witness for each."""
