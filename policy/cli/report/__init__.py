"""What people and programs read: values in, text out.

No module here reads a file, a clock or a terminal. A `policy.cli.report.text.PageLayout` gives the
width and the colour of a page, and the caller passes the text of places as spans.
"""
