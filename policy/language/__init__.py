"""Text to tree and back: matchers of every host, and files of our own notation."""
