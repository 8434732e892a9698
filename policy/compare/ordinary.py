"""Witnesses that people would type, in place of what a search finds.

A search finds some call that shows a change. People know the change by another call of the same
rules: a rule's own words, completed as they mostly are. The first of these that both sides decide
by the same rules as the call that was found takes its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from policy.compare.witness import Call, Difference, signature
from policy.tables.dialect import ArgumentKind, Dialect
from policy.tables.table import Table

__all__ = ["is_ordinary", "ordinary"]

# Of so many differences a better call is looked for: a reader sees fewer.
_MOST: Final = 100

# The first words of a command -> what follows, the most ordinary first.
_COMMANDS: Final = {
    "git": "commit -m fix|push origin main|status",
    "git add": "src/app.py",
    "git checkout": "main",
    "git commit": "-m fix",
    "git commit -m": "fix",
    "git diff": "main",
    "git log": "--oneline",
    "git push": "origin main|--force",
    "git push --force": "origin main",
    "git push origin": "main",
    "git reset --hard": "HEAD",
    "npm": "install|run build|test",
    "npm run": "build",
    "npx": "eslint src",
    "yarn": "install",
    "pnpm": "install",
    "node": "app.js",
    "python": "app.py",
    "python3": "app.py",
    "pip install": "requests",
    "pytest": "tests",
    "cargo": "build",
    "go": "build",
    "make": "build",
    "docker": "run alpine|ps",
    "docker compose": "up",
    "kubectl": "apply -f app.yaml|get pods",
    "terraform": "apply",
    "gh": "pr create",
    "gh pr": "create",
    "curl": "https://example.com",
    "wget": "https://example.com",
    "rm": "src/app.py",
    "rm -rf": "build",
    "cat": "README.md",
    "ls": "src",
    "cp": "a.txt b.txt",
    "mv": "a.txt b.txt",
    "mkdir": "build",
    "touch": "src/app.py",
    "find": ". -name app.py",
    "grep": "TODO src/app.py",
    "echo": "hello",
    "sudo": "apt install jq",
    "ssh": "example.com",
    "chmod": "+x run.sh",
    "uv run": "pytest",
}

# What stands for a star elsewhere in a command, and behind words that are not listed.
_WORDS: Final = ("build", "main", "src/app.py", "")
_PROGRAMS: Final = ("npm", "git push", "make")

# Commands of which no rule says anything, and those that open a file.
_ANY_COMMAND: Final = ("npm install", "make build", "git push origin main", "git status", "ls")
_OPENING: Final = ("cat", "head", "git diff", "grep TODO", "echo x >", "touch", "rm")

# The name of a folder -> a file in it; the ending of a name -> what is before it.
_FILES: Final = {
    "docs": "guide.md",
    "tests": "test_app.py",
    "secrets": "key.pem",
    ".ssh": "id_rsa",
    ".aws": "credentials",
    "etc": "hosts",
    "config": "app.yaml",
    "log": "app.log",
    "logs": "app.log",
    ".github": "workflows/ci.yml",
}
_FILE: Final = "app.py"
_STEMS: Final = {"md": "README", "json": "package", "toml": "pyproject", "pem": "key", "key": "id"}
_ANY_FILE: Final = ("src/app.py", "README.md", "~/notes.txt", "/etc/hosts")

# What searches come up with: short names, and what is odd about a path or a redirection.
_FOUND: Final = re.compile(r"~\d|worktrees|<|(?<!echo )(?:^|(?<=[\s/'>]))[a-z0](?=[\s/.'>]|$)")

# A rule: its tool and its specifier.
_RULE: Final = re.compile(r"([^\s()]+)\((?:domain:)?(.*)\)", re.DOTALL)


def ordinary(differences: Iterable[Difference], old: Table, new: Table) -> Iterator[Difference]:
    """Yield differences of two tables, the first ones by the calls that people think of first."""
    for number, difference in enumerate(differences):
        yield _ordinary(difference, old, new) if number < _MOST else difference


def _ordinary(difference: Difference, old: Table, new: Table) -> Difference:
    """Return a difference by the call that people think of first, of those decided like its own.

    Args:
        difference: of the two tables.
        old: what its first decision is of.
        new: what its second is of.

    """

    def decided(call: Call, tool: str = difference.tool) -> Difference:
        lookups = (old.lookup(tool), new.lookup(tool))
        return Difference(tool, call, *(each.decide(call, remember=False) for each in lookups))

    tool, found = difference.tool, decided(difference.call)
    if tool.endswith("__x"):  # of a server whose tools no rule names
        named = decided(difference.call, f"{tool.removesuffix('x')}search")
        return named if signature(named) == signature(found) else found
    dialect = next((part.rules.dialect for t in (old, new) for part in t.use.parts), None)
    if dialect is None:
        return found
    argument = dialect.argument(tool)
    field = next((name for name in argument.fields if name in found.call), "")
    if not isinstance(found.call.get(field), str):
        return found
    rules = [
        because.rule
        for decision in (found.after, found.before)
        for because in decision.because
        if because.place is not None
    ]
    for text in dict.fromkeys(_texts(dialect, argument.kind, rules)):
        one = decided({**found.call, field: text})
        if signature(one) == signature(found):
            return one
    return found


def is_ordinary(call: Call) -> bool:
    """Return whether people would make a call, rather than a search alone."""
    return not any(isinstance(text, str) and _FOUND.search(text) for text in call.values())


def _texts(dialect: Dialect, kind: ArgumentKind, rules: Iterable[str]) -> Iterator[str]:
    """Yield arguments that rules may match, those of their own words first."""
    for rule in rules:
        found = _RULE.fullmatch(rule)
        if found is None:
            continue
        of_rule = dialect.argument(found[1]).kind
        match kind, of_rule:
            case ArgumentKind.COMMAND, ArgumentKind.COMMAND:
                yield from _commands(found[2])
            case ArgumentKind.COMMAND, ArgumentKind.PATH:
                paths = _paths(found[2])
                yield from (f"{program} {path}" for path in paths for program in _OPENING)
            case ArgumentKind.PATH, ArgumentKind.PATH:
                yield from _paths(found[2])
            case ArgumentKind.URL, ArgumentKind.URL:
                host = found[2].replace("*.", "api.").replace("*", "example")
                yield f"https://{host}/"
            case _:
                pass
    match kind:
        case ArgumentKind.COMMAND:
            yield from _ANY_COMMAND
        case ArgumentKind.PATH:
            yield from _ANY_FILE
        case ArgumentKind.URL:
            yield "https://example.com/"
        case _:
            pass


def _commands(pattern: str) -> Iterator[str]:
    """Yield commands that a pattern may match."""
    start = re.sub(r"(?::| )\*$", "", pattern)
    if "*" in start:
        words = _PROGRAMS if start[0] == "*" else _WORDS
        words = ("", *words) if re.search(r"\w\*", start) else words
        words = ("push origin", *words) if start.startswith("git *") else words
        yield from (" ".join(start.replace("*", word).split()) for word in words)
    elif start == pattern:
        yield pattern
    else:
        yield from (f"{start} {rest}" for rest in _COMMANDS.get(start, "").split("|") if rest)
        yield start
        yield from (f"{start} {word}" for word in _WORDS if word)


def _paths(pattern: str) -> Iterator[str]:
    """Yield paths that a pattern may match: as people write them, in the folder they are in."""
    rooted = re.sub(r"^/+", "/", pattern)  # two slashes lead out of the project in some hosts
    for path in dict.fromkeys((rooted, rooted.removeprefix("/"))):
        folder, _, name = path.removeprefix("./").rpartition("/")
        folder = re.sub(r"(?<![^/])\*\*/?", "", folder).replace("*", "app").rstrip("/")
        stem, dot, ending = name.rpartition(".")
        if not name.strip("*"):
            names = [_FILES.get(folder.rpartition("/")[2], _FILE), "notes.txt", ""]
            folder = folder or ("src" if "**" in path and not path.startswith("/") else "")
        elif not stem.strip("*") and stem:
            names = [_STEMS.get(ending, "app") + dot + ending]
        elif name.startswith(".env"):
            names = [re.sub(r"\*+", "", name).rstrip("."), re.sub(r"\*+", "local", name)]
        else:
            names = [name.replace("*", "app")]
        root = "/" if path.startswith("/") and not folder else ""
        yield from (f"{root}{folder}{'/' if folder and each else ''}{each}" for each in names)
