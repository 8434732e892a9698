"""Which rules of a table decide anything, and which only because of their place."""
