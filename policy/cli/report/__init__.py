"""Reports: a document of blocks (`document`), and the formats that write it.

The module of a verb makes a `document.Report`, and `policy.cli.console` writes it to the terminal
or to files. No module here reads a file, a clock or a terminal.
"""
