"""Shell commands, taken apart into what rules apply to."""
