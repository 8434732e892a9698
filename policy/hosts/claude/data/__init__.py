"""What versions of Claude Code know, as data. Everything here was observed of the program."""
