"""What a person who waits learns of long work."""

from __future__ import annotations

import io

import pytest

from policy.cli import console, main
from policy.core.progress import reached, steps, watched


def test_steps_are_reported_to_who_watches_and_to_no_one_else() -> None:
    seen: list[tuple[str, int, int]] = []
    assert [*steps("ab", "reading")] == ["a", "b"]
    with watched(lambda *said: seen.append(said)):
        assert [*steps("ab", "reading")] == ["a", "b"]
        reached("bytes", 5, 9)
    reached("bytes", 6, 9)
    assert seen == [("reading", 0, 2), ("reading", 1, 2), ("bytes", 5, 9)]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("stream", "shown"), [(Terminal, True), (io.StringIO, False)])
def test_a_terminal_shows_a_bar_that_is_gone_before_anything_else_is_written(
    stream: type[io.StringIO], shown: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    errors = stream()
    monkeypatch.setattr("sys.stderr", errors)
    now = iter([0.0, 0.5, 2.0])
    monkeypatch.setattr(console.time, "monotonic", lambda: next(now))
    where = console.Console.of("never")
    where.progress("comparing chains", 0, 4)  # within the first second
    assert errors.getvalue() == ""
    where.progress("comparing chains", 1, 4)
    where.clear()
    bar = "\r\x1b[K[#####---------------] 1 of 4  comparing chains\r\x1b[K"
    assert errors.getvalue() == (bar if shown else "")


def test_an_interrupted_command_leaves_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    errors = Terminal()
    monkeypatch.setattr("sys.stderr", errors)

    def run(options: object, where: console.Console) -> int:
        where._next = 0.0
        reached("comparing chains", 1, 4)
        raise KeyboardInterrupt

    monkeypatch.setattr("policy.cli.audit.run", run)
    assert main(["audit", "."]) == 130
    assert errors.getvalue().endswith("1 of 4  comparing chains\r\x1b[K")
