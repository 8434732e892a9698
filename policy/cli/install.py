"""``policy install``: make Claude Code run `policy hook` before every call."""

from __future__ import annotations

import argparse
from contextlib import suppress
from pathlib import Path

from policy.adapters.hook import settings
from policy.cli.console import Console
from policy.files.opening import start_place
from policy.files.text import BYTE_ORDER_MARK, decode
from policy.files.writing import content_of, replace_files
from policy.tables.compiled import load_compiled


def run(options: argparse.Namespace, console: Console) -> int:
    """Show the change, write it after confirmation, and return the exit status."""
    file = settings.settings_file(_scope(options))
    old = content_of(file)
    source = decode(str(file), old or b"")
    if options.undo:
        new = settings.without_hook(source)
    else:
        command = settings.command(_options(options), portable=options.project)
        new = settings.with_hook(source, settings.entry(command))
    if new == source.text:
        console.line(f"{file}: nothing to change")
        return _warned(options, new, console)
    title = "without the hook" if options.undo else "with the hook"
    console.difference(source.name, source.text, new, title)
    if options.dry_run or not (options.yes or console.confirms(f"Write {file}?")):
        console.line(f"{file}: not written")
        return _warned(options, new, console) if options.dry_run else 1
    if options.undo and new.strip() == "{}":
        # An empty file would still mark the folder as a project of the host.
        replace_files({file: (old, None)})
        with suppress(OSError):  # others have files there
            file.parent.rmdir()
        console.line(f"{file}: removed, since nothing is left in it")
        return 0
    mark = BYTE_ORDER_MARK if source.byte_order_mark else ""
    replace_files({file: (old, (mark + new).encode())})
    console.line(f"{file}: written")
    if not (options.undo or options.user) and (options.project or start_place(".").folder):
        console.line("a session that is started in another folder does not read it")
    return _warned(options, new, console)


def _warned(options: argparse.Namespace, new: str, console: Console) -> int:
    """Report the settings that keep the hook from running; return 1 where there are any."""
    reasons = [] if options.undo else settings.keeping_from_running(_scope(options), new)
    for reason in reasons:
        console.error(reason)
    folders = (Path(), Path(".claude"), settings.settings_file("user").parent)
    found = options.policy or [file for each in folders for file in each.glob("*.policy")]
    if not (options.undo or options.user or found):
        console.line("no `*.policy` file is here; without one, the settings of Claude Code decide")
    return int(bool(reasons))


def _scope(options: argparse.Namespace) -> str:
    return "user" if options.user else "project" if options.project else "local"


def _options(options: argparse.Namespace) -> list[str]:
    given = [] if options.no_resident else ["--resident"]
    if options.root:
        given += ["--root", options.root]
    if options.record:
        given += ["--record", _named(options.record, options), "--redact", options.redact]
    if options.policy:
        compiled = load_compiled(options.policy)
        # With the hash in the settings, a changed file blocks every call.
        given += ["--hash", compiled.hash, _named(options.policy, options)]
    return given


def _named(file: str, options: argparse.Namespace) -> str:
    """Return the path of a file in settings; shared settings keep a relative path."""
    path = Path(file)
    return str(path if options.project and not path.is_absolute() else path.resolve())
