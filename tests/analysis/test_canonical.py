"""Files of our notation in their canonical form: read as before."""

from __future__ import annotations

import pytest

from policy.analysis import formatting
from policy.analysis.formatting import canonical
from policy.core.errors import PolicyError
from policy.files.text import decode
from tests.conftest import FIXTURES


def test_each_file_of_the_fixtures_means_the_same_when_printed() -> None:
    printed = 0
    for path in sorted(FIXTURES.rglob("*.policy")):
        try:
            text = canonical(decode(path.name, path.read_bytes()))
        except PolicyError as error:
            assert "shown" not in error.message  # it is the text that is bad
            continue
        assert canonical(decode(path.name, text.encode())) == text
        printed += 1
    assert printed > 10


def test_what_would_mean_something_else_is_refused(monkeypatch) -> None:
    looser = "root a\nagent a {\n    allow Read, Edit\n}\n"
    monkeypatch.setattr(formatting, "print_document", lambda _: looser)

    with pytest.raises(PolicyError, match="cannot be shown to mean the same"):
        canonical(decode("a.policy", b"agent a {\n    allow Read\n}\n"))
