"""Read files of folders, single files and revisions of a repository, as text with places."""
