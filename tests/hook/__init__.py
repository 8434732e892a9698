"""The hook as a process, and attacks on it."""
