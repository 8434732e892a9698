"""What people see: values in, text out.

Nothing here reads a file, a clock or a terminal. How wide a line may be and
whether there is colour is a `policy.cli.report.text.Page`, and the text that a
place stands for is handed in as a span.
"""
