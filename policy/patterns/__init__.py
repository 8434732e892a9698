"""Sets of texts as values: what a pattern matches, contains and shares with others."""
