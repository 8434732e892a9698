"""Where an expansion ends to a host that reads shell by itself (2.1.329 was seen to ask)."""

from __future__ import annotations

import pytest

from policy.commands.expansions import is_ended_oddly
from tests.claude_session import decide

pytest.importorskip("tree_sitter_bash")

ODD = [
    *("${x:-(b))}", "${x:-(b)c}", "${x:-((b))}", "${x:-(b)(c)}", "${x:-(`c`)}", "${x:-($(c))}"),
    *("${x%$(c)}", "${x%%$(c)}", "${x#$(c)}", "${x/$(c)}", "${x/b$((1))}", "${x^$(c)}"),
    *("${x,,$(c)}", "${x%`c`}", "${x%{b}", "${x:-{b}}", "${x/{/b}", "${x:-<(c)}"),
    *("${#x!}", "${?!}", "${x[0]!}", "${!x!}", "${x:-${y%$(c)}}", "${x[0]%$(c)}", "${x@Q!}"),
    *("${x", "${x:-", "${x:-b", "${x:-$(c}", '${x:-"b}', "${x/a/b"),
]
PLAIN = [
    *("${x}", "${#x}", "${!x}", "${!x@}", "${!#}", "${x[0]}", "${#x[@]}", "${x@Q}", "${x:}"),
    *("${x:-b}", "${x:-$(c)}", "${x:-a$(c) b}", "${x:-`c`}", "${x:-(b)}", "${x:-(b c)}"),
    *("${x%$y}", "${x%(b)}", "${x##*(}", "${x%\\}}", "${x/a/$(c)}", "${x// /_}", "${x/b/${y}}"),
    *("${x:-${y:-z}}", "${x:0:2}", "${x: -1}", "${x^^}", "${x,b}", '${x:-"$(c ")")"}', "${-}"),
]


@pytest.mark.parametrize("text", ODD)
def test_who_cannot_tell_asks_whatever_rules_say(text: str) -> None:
    assert is_ended_oddly(text)
    assert is_ended_oddly(f"foo {text}", 4)
    if text.endswith("}"):
        for mode in ("default", "bypassPermissions"):
            assert str(decide(f"foo {text}", mode, allow=["Bash", f"Bash(foo {text})"])) == "ask"


@pytest.mark.parametrize("text", PLAIN)
def test_others_are_told(text: str) -> None:
    assert not is_ended_oddly(text)
    assert not is_ended_oddly(text + "}")
    assert str(decide(f"foo {text}", allow=["Bash"])) == "allow"


def test_what_stands_in_one_another_too_deep_is_told_by_nobody() -> None:
    assert is_ended_oddly("${x:-" * 100 + "}" * 100)
    assert not is_ended_oddly("${x:-" * 10 + "}" * 10)
