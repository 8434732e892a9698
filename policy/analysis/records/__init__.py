"""Calls that agents made and what they got: written down, and read again."""
