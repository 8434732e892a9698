"""Hosts, a package each; `front_ends` lists those that read files."""
