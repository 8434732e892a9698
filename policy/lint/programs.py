"""Programs by what they do with their arguments: run them, print files, take subcommands."""

from __future__ import annotations

from typing import Final

__all__ = ["ANYTHING", "READERS", "RUNNERS", "SUBCOMMANDED"]

# Stands for whatever somebody wants to run: no rule names it.
ANYTHING: Final = "policy-witness"

# A command that runs what its arguments say, and who does that.
RUNNERS: Final = {
    **{f"{name} -c {ANYTHING}": name for name in "sh bash zsh dash ksh fish".split()},
    **{f"{name} -c {ANYTHING}": name for name in "python python3".split()},
    **{f"{name} {ANYTHING}.py": name for name in "python python3".split()},
    **{f"{name} -e {ANYTHING}": name for name in "node perl ruby lua osascript bun".split()},
    **{f"{name} {ANYTHING}": name for name in "npx bunx uvx eval env xargs sudo".split()},
    **{
        f"{name} {ANYTHING}": name
        for name in ("npm exec", "pnpm dlx", "yarn dlx", "uv run", "pipx run", "poetry run")
    },
    f"php -r {ANYTHING}": "php",
    f"deno eval {ANYTHING}": "deno",
    f"ssh host {ANYTHING}": "ssh",
    f"nix-shell --run {ANYTHING}": "nix-shell",
    f"docker run image {ANYTHING}": "docker run",
    f"docker exec container {ANYTHING}": "docker exec",
    f"kubectl exec pod -- {ANYTHING}": "kubectl exec",
    f"find . -exec {ANYTHING} ';'": "find -exec",
    f"awk 'BEGIN {{system(\"{ANYTHING}\")}}'": "awk",
    f"git -c 'alias.x=!{ANYTHING}' x": "git -c",
    f"pwsh -Command {ANYTHING}": "pwsh",
    f"powershell -Command {ANYTHING}": "powershell",
}

# Commands that print a file, whose name stands for `{}`.
READERS: Final = (
    "cat {}", "head {}", "tail {}", "less {}", "grep '' {}", "rg '' {}", "sed p {}", "awk 1 {}",
    "sort {}", "base64 {}", "xxd {}", "strings {}", "diff {} /dev/null", "tar cf - {}",
    "cp {} copy", "git diff --no-index /dev/null {}", f"python -c {ANYTHING} {{}}",
    f"python3 -c {ANYTHING} {{}}", f"node -e {ANYTHING} {{}}", f"sh -c {ANYTHING} {{}}",
    f"bash -c {ANYTHING} {{}}",
)  # fmt: skip

# Programs that begin with options of their own, then a subcommand.
SUBCOMMANDED: Final = frozenset(
    f"{name} "
    for name in "git gh glab npm pnpm yarn bun cargo go docker podman kubectl helm aws gcloud az"
    " terraform systemctl".split()
)
