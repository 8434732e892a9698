"""Files that Claude Code 2.1.329 asks for before it writes them, whatever rules allow."""

from __future__ import annotations

from typing import Final

from policy.patterns.tokens import BLANKS

__all__ = [
    "GUARDED",
    "GUARDED_LAST",
    "LEFT_OPEN",
    "MANAGED",
    "MANAGED_FILES",
    "MISREAD",
    "MISREAD_ENDS",
]

GUARDED: Final = tuple(
    ".git .config/git .vscode .idea .husky .cargo .devcontainer .yarn .mvn .gitconfig"
    " .gitmodules .bashrc .bash_profile .bash_login .bash_logout .profile .zshrc .zprofile .zshenv"
    " .zlogin .zlogout .envrc .npmrc .yarnrc .yarnrc.yml .pnp.cjs .pnp.loader.mjs .pnpmfile.cjs"
    " bunfig.toml .bunfig.toml .bazelrc .bazelversion .bazeliskrc .pre-commit-config.yaml"
    " lefthook*.yml lefthook*.yaml .lefthook*.yml .lefthook*.yaml gradle-wrapper.properties"
    " maven-wrapper.properties .devcontainer.json .ripgreprc pyrightconfig.json .mcp.json"
    " .claude.json".split()
)

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
# for such a name on every system. The path of a file tool has no blank at its very end.
MISREAD: Final = ("*~[0-9]*", "*.", f"*[{BLANKS}]")
MISREAD_ENDS: Final = tuple(f"*.{name}" for name in "con prn aux nul com[1-9] lpt[1-9]".split())
