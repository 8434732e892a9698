"""Values that every other package uses: effects, decisions, sources, errors, findings."""
