"""Pictures of real runs, for the README and the pages: `python -m tests.screens` writes them.

They lie in `docs/pictures`, and `tests/test_readme.py` fails when one is out of date.
"""

from __future__ import annotations

import io
import re
import shlex
from contextlib import chdir, redirect_stdout
from html import escape
from pathlib import Path

from policy.cli import main
from policy.cli.report.terminal import width

ROOT = Path(__file__).parent.parent
PICTURES = ROOT / "docs" / "pictures"

# Name of the picture -> the command.
SCREENS = {
    "audit": "policy audit fixtures/team",
    "check": "policy check fixtures/team 'Bash(git diff --stat && git commit -m x > log)'",
    "diff": "policy diff fixtures/command/team fixtures/command/team-changed",
}

_COLUMN, _LINE, _MARGIN = 8.4, 20, 20

# The codes that the terminal writer uses, on a dark ground.
_STYLES = {
    "1": "font-weight:700",
    "2": "fill:#9aa4b2",
    "31": "fill:#ff7b72",
    "32": "fill:#7ee787",
    "33": "fill:#e3b341",
    "36": "fill:#79c0ff",
}
_CODE = re.compile(r"\x1b\[([0-9;]*)m")


def printed(command: str) -> str:
    """Return what *command* prints on a terminal with colours."""
    output = io.StringIO()
    with chdir(ROOT), redirect_stdout(output):
        main([*shlex.split(command)[1:], "--color", "always"])
    return output.getvalue()


def picture(command: str) -> str:
    """Return an SVG of *command* and what it prints."""
    lines = [f"\x1b[2m$\x1b[0m \x1b[1m{command}\x1b[0m", "", *printed(command).splitlines()]
    wide = round(max(map(width, lines)) * _COLUMN + 2 * _MARGIN)
    high = len(lines) * _LINE + 2 * _MARGIN
    rows = (
        span
        for number, line in enumerate(lines)
        for span in _spans(line, _MARGIN + _LINE * number + 15)
    )
    fonts = "ui-monospace,SFMono-Regular,Menlo,Consolas,monospace"
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" width="{wide}"',
            f'  role="img" font-family="{fonts}" font-size="14" fill="#e6edf3">',
            f"<title>{escape(command)}</title>",
            '<rect width="100%" height="100%" rx="8" fill="#161b22"/>',
            *rows,
            "</svg>\n",
        )
    )


def _spans(line: str, y: int) -> list[str]:
    """Return a text for each stretch of one style; its length keeps the columns in line."""
    spans, style, column = [], "", 0
    for index, part in enumerate(_CODE.split(line)):
        if index % 2:
            style = ";".join(_STYLES[each] for each in part.split(";") if each in _STYLES)
        elif part.strip():
            text = part.strip(" ")
            x = _MARGIN + (column + width(part) - width(part.lstrip(" "))) * _COLUMN
            styled = f' style="{style}"' if style else ""
            spans.append(
                f'<text x="{x:g}" y="{y}" textLength="{width(text) * _COLUMN:g}"{styled}'
                f' xml:space="preserve">{escape(text)}</text>'
            )
        if not index % 2:
            column += width(part)
    return spans


if __name__ == "__main__":
    PICTURES.mkdir(exist_ok=True)
    for name, command in SCREENS.items():
        (PICTURES / f"{name}.svg").write_text(picture(command), "utf-8")
        print(PICTURES / f"{name}.svg")
