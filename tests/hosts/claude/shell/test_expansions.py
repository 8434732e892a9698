"""Where an expansion ends: one that some shell may end elsewhere is asked for."""

from __future__ import annotations

import pytest

from tests.claude_session import decide

pytest.importorskip("tree_sitter_bash")

AMBIGUOUS = [
    *("${x:-(b))}", "${x:-(b)c}", "${x:-((b))}", "${x:-(b)(c)}", "${x:-(`c`)}", "${x:-($(c))}"),
    *("${x%$(c)}", "${x%%$(c)}", "${x#$(c)}", "${x/$(c)}", "${x/b$((1))}", "${x^$(c)}"),
    *("${x,,$(c)}", "${x%`c`}", "${x%{b}", "${x:-{b}}", "${x/{/b}", "${x:-<(c)}"),
    *("${#x!}", "${?!}", "${x[0]!}", "${!x!}", "${x:-${y%$(c)}}", "${x[0]%$(c)}", "${x@Q!}"),
    *("${x:-$(c)}", "${x:-a$(c) b}", "${x:-`c`}", "${x:-(b)}", "${x%(b)}", "${x##*(}", "${x%\\}}"),
    *("${x/a/$(c)}", "${x:-${y:-z}}", '${x:-"$(c ")")"}'),
]
PLAIN = [
    *("${x}", "${#x}", "${!x}", "${!x@}", "${x[0]}", "${#x[@]}", "${x@Q}", "${x:}"),
    *("${x:-b}", "${x%$y}", "${x##*/}", "${x// /_}", "${x/b/${y}}", "${x:-'a b'}", '${x:-"$y"}'),
    *("${x:0:2}", "${x: -1}", "${x^^}", "${x,b}", "${-}"),
]


@pytest.mark.parametrize("text", AMBIGUOUS)
def test_an_expansion_that_may_end_elsewhere_is_asked_for_whatever_rules_allow(text: str) -> None:
    for mode in ("default", "bypassPermissions"):
        assert str(decide(f"foo {text}", mode, allow=["Bash", f"Bash(foo {text})"])) == "ask"


@pytest.mark.parametrize("text", PLAIN)
def test_a_rule_for_every_command_allows_a_plain_expansion(text: str) -> None:
    assert str(decide(f"foo {text}", allow=["Bash"])) == "allow"


@pytest.mark.parametrize("text", ["${x", "${x:-", "${x:-b", "${x:-$(c}", '${x:-"b}', "${x/a/b"])
def test_a_denial_applies_to_a_command_whose_expansion_does_not_end(text: str) -> None:
    assert str(decide(f"foo {text}", allow=["Bash"], deny=["Bash(foo *)"])) == "deny"
