"""What people ask: audit, query, diff, lint, convert, suggest, replay."""
