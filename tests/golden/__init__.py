"""What today's code decides, kept to compare tomorrow's with: `python -m tests.golden`."""
