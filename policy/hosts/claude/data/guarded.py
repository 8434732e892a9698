"""Files and folders that Claude Code 2.1.329 guards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from policy.patterns.tokens import BLANKS

__all__ = [
    "GUARDED",
    "GUARDED_FILES",
    "GUARDED_LAST",
    "IGNORED",
    "LEADING_OUT",
    "LEFT_OPEN",
    "LINKED",
    "MANAGED",
    "MANAGED_FILES",
    "MISREAD",
    "MISREAD_ENDS",
    "OF_SYSTEMS",
    "OWN",
    "STREAM",
]


# Folders, with all below them, and files, wherever they lie.
GUARDED: Final = tuple(
    ".git .config/git .vscode .idea .husky .cargo .devcontainer .yarn .mvn".split()
)
GUARDED_FILES: Final = tuple(
    ".gitconfig .gitmodules .bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile"
    " .zshrc .zprofile .zshenv .zlogin .zlogout .envrc .npmrc .yarnrc .yarnrc.yml .pnp.cjs"
    " .pnp.loader.mjs .pnpmfile.cjs bunfig.toml .bunfig.toml .bazelrc .bazelversion .bazeliskrc"
    " .pre-commit-config.yaml lefthook.yml lefthook.yaml .lefthook.yml .lefthook.yaml"
    " gradle-wrapper.properties maven-wrapper.properties .devcontainer.json .ripgreprc"
    " pyrightconfig.json .mcp.json .claude.json".split()
)

# What else a name of these may be followed by, with any text behind it: what Windows reads as
# a stream of that file.
STREAM: Final = ":"

# Files below a home folder with its own keys: who moves or removes a folder above them, reaches
# them.
OWN: Final = (".claude/.credentials.json", ".claude/.device-keys.json")

# Characters that macOS passes over in a name. The program takes the name for what it is without
# them; here a name with one of them is asked for, whatever it is.
IGNORED: Final = "\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff"

# The guarded folder in which one is left open, wherever both lie, but for what is guarded in that.
GUARDED_LAST: Final = ".claude"
LEFT_OPEN: Final = ".claude/worktrees"

# Where an administrator keeps settings, by the system, and which of the files there they are.
MANAGED: Final = {
    "linux": "/etc/claude-code",
    "darwin": "/Library/Application Support/ClaudeCode",
    "windows": "/c/Program Files/ClaudeCode",
}
MANAGED_FILES: Final = ("managed-settings.json", "managed-settings.d/*.json")

# Parts of names, and ends of them, that Windows reads as those of other files: the program asks
# for such a name on every system, and takes a backslash for the end of one on each. The path
# of a file tool has no blank at its very end. Of each kind, those first that people see.
_DOTS: Final = (r"*[!.\].", r"*[!\]..")
_BLANK: Final = f"*[{BLANKS}]"
MISREAD: Final = (
    ("*~[0-9]*",),
    (*_DOTS, *(rf"{end}\\*" for end in _DOTS)),
    (_BLANK, rf"{_BLANK}\\*"),
)
MISREAD_ENDS: Final = tuple(f"*.{name}" for name in "con prn aux nul com[1-9] lpt[1-9]".split())

# Names that lead out of any folder where a backslash ends one: what has one is in none.
LEADING_OUT: Final = (r"..\\*", r"*\\..", r"*\\..\\*")


# Folders of systems that are links, and whose names rules look through (2.1.329, observed).


# Where one of these is just that link, a rule for its name is one for what it leads to as well.
LINKED: Final[Mapping[str, str]] = {
    "/tmp": "/private/tmp",  # noqa: S108  # a name in a rule
    "/var": "/private/var",
    "/etc": "/private/etc",
    "/bin": "/usr/bin",
    "/lib": "/usr/lib",
    "/sbin": "/usr/sbin",
}

# Those that every installation of a system has.
OF_SYSTEMS: Final[Mapping[str, Mapping[str, str]]] = {
    "darwin": {name: target for name, target in LINKED.items() if target.startswith("/private/")},
}
