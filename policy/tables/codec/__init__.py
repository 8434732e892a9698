"""Tables, and whole compiled policies, to JSON and back.

Reading is strict: every key is known, nothing is turned from one type into
another, patterns are in their canonical form, and the content hash that the
text states is that of the table it gives. Nothing in it is executed. What a
table only explains (places, the wording of rules, whose they are) stands apart
under ``sources``, with a hash of its own.
"""
