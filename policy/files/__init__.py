"""Reads policies from folders, single files and revisions of a repository."""
