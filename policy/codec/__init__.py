"""Tables to JSON and back.

Reading is strict: every key is known, nothing is turned from one type into
another, patterns are in their canonical form, and the content hash that the
text states is that of the table it gives. Nothing in it is executed. What a
table only explains (places, the wording of rules, whose they are) stands apart
under ``sources``, with a hash of its own.
"""

from __future__ import annotations

from policy.codec.reading import table_from_json
from policy.codec.writing import table_to_json

__all__ = ["table_from_json", "table_to_json"]
