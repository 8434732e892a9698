"""Tables, and whole compiled policies, to JSON and back.

Reading is strict: every key is known, nothing is turned from one type into
another, patterns are in their canonical form, and the content hash that the
text states is that of the table it gives. Nothing in it is executed. What a
table only explains (places, the wording of rules, whose they are) stands apart
under ``sources``, with a hash of its own.
"""

from __future__ import annotations

from policy.tables.codec.reading import compiled_from_json, load_compiled, table_from_json
from policy.tables.codec.writing import compiled_to_json, table_to_json

__all__ = [
    "compiled_from_json",
    "compiled_to_json",
    "load_compiled",
    "table_from_json",
    "table_to_json",
]
