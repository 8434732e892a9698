"""Reading files: YAML and JSON with places, and the headers of Markdown files."""
