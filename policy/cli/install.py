"""``policy install``: make Claude Code run `policy hook` before every call."""

from __future__ import annotations

import argparse
import contextlib
import os
from pathlib import Path

from policy.adapters.hook.settings import command, entry, silencing, with_hook, without_hook
from policy.adapters.hook.sources import Places
from policy.cli.console import Console
from policy.core.errors import PolicyError
from policy.files.text import BYTE_ORDER_MARK, decode
from policy.files.writing import check_unchanged, file_errors, replace_files
from policy.tables.compiled import load_compiled


def run(options: argparse.Namespace, console: Console) -> int:
    """Show the change, write it after confirmation, and return the exit status."""
    file = _file(_scope(options))
    old = _bytes(file)
    source = decode(str(file), old or b"")
    if options.undo:
        new = without_hook(source)
    else:
        new = with_hook(source, entry(command(_options(options), portable=options.project)))
    if new == source.text:
        console.line(f"{file}: nothing to change")
        return _warned(options, new, console)
    console.difference(
        source.name, source.text, new, "with the hook" if not options.undo else "without the hook"
    )
    if options.dry_run or not (options.yes or console.confirms(f"Write {file}?")):
        console.line(f"{file}: not written")
        return _warned(options, new, console) if options.dry_run else 1
    if options.undo and new.strip() == "{}":
        # An empty file would still mark the folder as a project of the host.
        _remove(file, old)
        console.line(f"{file}: removed, since nothing is left in it")
        return 0
    mark = BYTE_ORDER_MARK if source.byte_order_mark else ""
    _write(file, old, (mark + new).encode())
    console.line(f"{file}: written")
    if options.project and not options.undo:
        console.line("a session that is started in a folder below does not read it")
    return _warned(options, new, console)


def _warned(options: argparse.Namespace, new: str, console: Console) -> int:
    """Report the settings that keep the hook from running; return 1 where there are any."""
    if options.undo:
        return 0
    holder = _scope(options)
    files = {scope: _file(scope) for scope in ("local", "project", "user")}
    files["managed"] = Path(Places("/").managed)
    settings = {holder: decode(str(files[holder]), new.encode())}
    for scope, file in files.items():
        # An unreadable file has no effect.
        with contextlib.suppress(PolicyError):
            if scope != holder and (data := _bytes(file)):
                settings[scope] = decode(str(file), data)
    reasons = list(silencing(settings, holder))
    for reason in reasons:
        console.error(reason)
    return int(bool(reasons))


def _scope(options: argparse.Namespace) -> str:
    return "user" if options.user else "project" if options.project else "local"


def _file(scope: str) -> Path:
    if scope == "user":
        folder = os.environ.get("CLAUDE_CONFIG_DIR")
        return Path(folder) / "settings.json" if folder else Path.home() / ".claude/settings.json"
    return Path(".claude", "settings.json" if scope == "project" else "settings.local.json")


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


def _bytes(file: Path) -> bytes | None:
    with file_errors(file, "cannot be read"), contextlib.suppress(FileNotFoundError):
        return file.read_bytes()
    return None


def _remove(file: Path, old: bytes | None) -> None:
    check_unchanged(file, _bytes(file), old)
    with file_errors(file, "cannot be removed"):
        file.unlink()


def _write(file: Path, old: bytes | None, new: bytes) -> None:
    if old is not None:
        replace_files({file: (old, new)})
        return
    with file_errors(file):
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("xb") as stream:
            stream.write(new)
