"""The options of a verb, as `verbs.toml` has them: help needs no module of a verb."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from textwrap import fill
from typing import Any, Final

from policy.cli import verbs
from policy.core.errors import PolicyError

_HELP_WIDTH: Final = 100


def parser_of(verb: str) -> argparse.ArgumentParser:
    """Return the parser of *verb*."""
    data = verbs()
    about = data["verbs"][verb]
    parser = argparse.ArgumentParser(
        prog=f"policy {verb}",
        usage=f"%(prog)s [options] {about['usage']}",
        description=fill(about["description"], _HELP_WIDTH),
        epilog=about.get("epilog"),
        formatter_class=partial(
            argparse.RawDescriptionHelpFormatter, max_help_position=26, width=_HELP_WIDTH
        ),
        allow_abbrev=False,
    )
    _add(parser, about["options"])
    further = parser.add_argument_group("further options")
    _add(further, about.get("further", {}))
    for name in about.get("uses", ()):
        if name in data["own"]:
            _add(parser, data["own"][name])
        else:
            _add(further, data["further"][name])
    if formats := formats_of(verb):
        help_ = f"{', '.join(formats)} (default: {formats[0]})"
        form = {"default": formats[0], "metavar": "FORMAT", "help": help_}
        _add(further, {"--format": form, **data["further"]["answer"]})
    _add(further, data["further"]["colour"])
    return parser


def formats_of(verb: str) -> list[str]:
    """Return the formats of the answer of *verb*, the default first; none for no answer."""
    data = verbs()
    found: list[str] = data["formats"].get(data["verbs"][verb].get("formats"), [])
    return found


def parse_options(verb: str, arguments: list[str]) -> argparse.Namespace:
    """Return the options in *arguments* of *verb*; `command` is the words after ``--``.

    `output` is file -> format. Raises PolicyError: an output has no file, or the verb no such
    format.
    """
    command: list[str] = []
    if "command" in verbs()["verbs"][verb] and "--" in arguments:
        at = arguments.index("--")
        arguments, command = arguments[:at], arguments[at + 1 :]
    options = parser_of(verb).parse_intermixed_args(arguments)
    options.command = command
    if getattr(options, "reading", None) == "declared":
        options.reading = "attenuated"  # its name in JSON and in Python
    if formats := formats_of(verb):
        files: dict[Path, str] = {}
        for text in options.output:
            form, _, file = text.partition("=")
            if not file:
                raise PolicyError(f"expected FORMAT=FILE, found `{text}`")
            files[Path(file)] = form
        for form in (options.format, *files.values()):
            if form not in formats:
                help_ = f"the formats are {', '.join(formats)}"
                raise PolicyError(f"`policy {verb}` has no format `{form}`", help=help_)
        options.output = files
    return options


def _add(adding: argparse._ActionsContainer, options: dict[str, dict[str, Any]]) -> None:
    """Add *options*: name -> the arguments of `add_argument`."""
    groups: dict[str, argparse._ActionsContainer] = {}
    for name, given in options.items():
        how = dict(given)
        short = [how.pop("short")] if "short" in how else []
        where = adding
        if group := how.pop("group", ""):
            where = groups.setdefault(group, adding.add_mutually_exclusive_group())
        if how.get("action") == "append":
            how["default"] = []
        if "type" in how:
            how["type"] = {"int": int}[how["type"]]
        where.add_argument(*short, name, **how)
