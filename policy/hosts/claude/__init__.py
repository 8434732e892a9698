"""Claude Code, as 2.1.329 behaves; README.md tells which module does what."""
