"""Calls as people and programs write them on the command line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

import attrs

from policy import limits
from policy.errors import PolicyError
from policy.source import Source

__all__ = ["Asked", "chain_of", "from_lines", "from_options", "from_word"]


@attrs.frozen
class Asked:
    """A call somebody asks about.

    Attributes:
        tool: its name.
        call: its arguments.
        chain: who calls, or () for the chain that all calls have.
        text: the call in our notation, in place of the two.
        problem: why there is no such call, or "".

    """

    tool: str = ""
    call: dict[str, object] = attrs.field(factory=dict)
    chain: tuple[str, ...] = ()
    text: str = ""
    problem: str = ""


def chain_of(text: str) -> tuple[str, ...]:
    """Return the chain written as ``main>explore``.

    Raises:
        PolicyError: a link has no name.

    """
    names = tuple(name.strip() for name in text.split(">"))
    if not all(names):
        msg = f"expected agents between `>`, found `{text}`"
        raise PolicyError(msg, help="a chain is written `main>explore>worker`")
    return names


def from_word(word: str) -> Asked:
    """Return the call that one argument of the command is."""
    return Asked(text=word)


def from_options(tool: str, text: str | None) -> Asked:
    """Return the call of ``--tool`` and ``--input``.

    Raises:
        PolicyError: *text* is not a JSON object.

    """
    return Asked(tool, {} if text is None else _object(text, Source("--input", text)))


def from_lines(lines: Iterable[str], name: str) -> Iterator[Asked]:
    """Yield the call of each line that is not blank; one that is no call has a problem."""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            yield _asked(line.strip(), Source(name, line.strip()))
        except PolicyError as error:
            yield Asked(problem=f"line {number:,} of {name}: {error.message}")


def _asked(line: str, source: Source) -> Asked:
    value = _object(line, source)
    tool, call, chain = value.get("tool"), value.get("input", {}), value.get("chain", [])
    if not isinstance(tool, str) or not tool:
        msg = "expected the name of a tool as `tool`"
        raise PolicyError(msg, source.whole())
    if not isinstance(call, dict):
        msg = "expected an object as `input`"
        raise PolicyError(msg, source.whole())
    if isinstance(chain, str):
        chain = chain_of(chain)
    if not isinstance(chain, (list, tuple)) or not all(isinstance(name, str) for name in chain):
        msg = "expected names of agents as `chain`"
        raise PolicyError(msg, source.whole())
    return Asked(tool, call, tuple(chain))


def _object(text: str, source: Source) -> dict[str, object]:
    if len(text) > limits.CALL_CHARACTERS:
        msg = "the call is longer than any call that is looked at"
        raise PolicyError(msg)
    try:
        value = json.loads(text, object_pairs_hook=_once, parse_constant=_no_number)
    except json.JSONDecodeError as error:
        span = source.span(min(error.pos, len(text)), min(error.pos + 1, len(text)))
        msg = f"this is not JSON: {error.msg.lower()}"
        raise PolicyError(msg, span) from None
    except (ValueError, RecursionError) as error:
        msg = f"this is not JSON: {str(error)[:100]}"
        raise PolicyError(msg, source.whole()) from None
    if not isinstance(value, dict):
        help_ = 'write `{"command": "git push"}`'
        msg = "expected a JSON object"
        raise PolicyError(msg, source.whole(), help=help_)
    return value


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    value = dict(pairs)
    if len(value) < len(pairs):
        # Which of the two the tool would take, nobody can know.
        msg = "a key is there twice"
        raise ValueError(msg)
    return value


def _no_number(text: str) -> float:
    msg = f"{text} is no number"
    raise ValueError(msg)
