"""Where policies are read from: folders, single files, revisions of a repository."""
