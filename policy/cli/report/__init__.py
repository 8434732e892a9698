"""What people and programs read: `document` has the blocks, and each format writes them.

No module here reads a file, a clock or a terminal; `policy.cli.console` gives the page its width
and colour. A module of a verb makes a `document.Report`, and `policy.cli.console` publishes it.
"""
