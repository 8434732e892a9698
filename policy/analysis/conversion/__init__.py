"""From the files of one host to those of another, with every loss and a witness for it."""
