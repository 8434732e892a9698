"""The hook as a process, and what somebody may do to it."""
