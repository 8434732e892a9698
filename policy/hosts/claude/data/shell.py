"""The words of ``shell.toml`` and ``powershell.toml``."""

from __future__ import annotations

from typing import Any, Final

from policy.hosts.claude.data import table

_DATA: Final[dict[str, Any]] = table("shell")


def _words(section: str, name: str) -> frozenset[str]:
    return frozenset(_DATA[section][name].split())


VARIABLES: Final = _words("variables", "harmless")
LOCALES: Final = _words("variables", "locales")
TEXTS: Final = _words("variables", "in_text")
COUNTED: Final = _words("variables", "counted")

INTERPRETERS: Final = _words("programs", "interpreters")
MOVERS: Final = _words("programs", "movers")
VERSIONING: Final = _words("programs", "versioning")
PLANTING: Final = _words("programs", "planting")
REPOSITORY: Final[str] = _DATA["programs"]["repository"]

# Programs that a rule with a star leaves to the model in `auto`.
RUNNERS: Final = _words("auto", "runners")
RUN_SCRIPTS: Final = frozenset(
    f"{manager} {verb}"
    for manager, verbs in _DATA["auto"]["scripts"].items()
    for verb in verbs.split()
)
LAUNCHERS: Final = _words("auto", "launchers")

# Another name of a command of PowerShell -> the command.
ALIASES: Final = {
    alias: name
    for name, aliases in table("powershell")["aliases"].items()
    for alias in aliases.split()
}
SYSTEM_FOLDERS: Final = tuple(table("powershell")["system_folders"])
