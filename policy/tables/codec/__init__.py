"""Tables, and whole compiled policies, to JSON and back.

Reading is strict: every key is known, nothing is turned from one type into another, patterns are
in their canonical form, and the text states the hash of its content. Nothing in it is executed.
"""
