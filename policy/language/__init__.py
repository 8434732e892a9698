"""Parse and print: matchers of every host, and files of our own notation."""
