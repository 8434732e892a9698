"""Shell commands, taken apart into what rules speak of."""
