"""What one rule set says of one tool: an ordered first-match list, asked of each call."""
