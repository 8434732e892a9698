"""Records of calls and their decisions: written, read and replayed."""
