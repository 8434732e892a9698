"""Sets of texts as values: what a pattern matches, contains and shares.

`tokens` is what patterns are made of, `automaton` merges many of them and runs them at once,
`search` finds a text that some match and others do not, `pattern` is the value people use, and
`notations` reads the ways people write one.
"""
