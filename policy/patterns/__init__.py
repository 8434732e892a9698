"""Patterns: sets of texts that can be matched, compared, intersected and searched."""
