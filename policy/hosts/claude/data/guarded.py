"""Files that Claude Code 2.1.329 asks for before it writes them, whatever rules allow."""

from __future__ import annotations

from typing import Final

__all__ = ["GUARDED", "GUARDED_LAST", "LEFT_OPEN"]

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
