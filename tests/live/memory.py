"""Sessions that were run once need not be run again: the program does the same every time."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Sequence
from pathlib import Path

from tests.live import theirs
from tests.live.scenario import Call, Scenario
from tests.live.theirs import Answer

__all__ = ["Memory"]


class Memory:
    """What the program did with calls, session by session; kept in a file, where one is given."""

    def __init__(self, file: Path | None = None) -> None:
        self._file = file
        self._lock = threading.Lock()
        self._known: dict[str, list[Answer]] = {}
        if file is not None and file.exists():
            for line in file.read_text().splitlines():
                key, answers = json.loads(line)
                self._known[key] = [Answer(*answer) for answer in answers]

    def decide(self, scenario: Scenario, calls: Sequence[Call]) -> list[Answer]:
        """Return what the program does with *calls* in one session (see `theirs.decide`)."""
        text = "\n".join([scenario.key, *map(str, calls)])
        key = hashlib.sha256(text.encode()).hexdigest()
        if key not in self._known:
            answers = theirs.decide(scenario, calls)
            with self._lock:
                self._known[key] = answers
                if self._file is not None:
                    with self._file.open("a") as file:
                        told = [[answer.word, answer.told] for answer in answers]
                        file.write(json.dumps([key, told]) + "\n")
        return self._known[key]
