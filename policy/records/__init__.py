"""What agents called and what they got: written down, and read again."""
