"""One session of the real program in a sandbox: no network, no file of the machine."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

__all__ = ["missing", "run"]

_INSIDE = Path(__file__).resolve().parent / "inside"
_ETC = {
    "passwd": "root:x:0:0:root:/root:/bin/bash\nalice:x:1000:1000::/home/alice:/bin/bash\n",
    "group": "root:x:0:\nalice:x:1000:\n",
    "hosts": "127.0.0.1 localhost\n",
    "nsswitch.conf": "passwd: files\nhosts: files\n",
}
_PRIVATE = ("/tmp", "/home", "/root", "/srv", "/opt", "/data", "/var")  # noqa: S108


def _program() -> Path | None:
    spec = importlib.util.find_spec("claude_agent_sdk")
    if spec is None or spec.origin is None:
        return None
    return Path(spec.origin).parent / "_bundled" / "claude"


def missing() -> str:
    """Return what the comparison needs and this machine lacks; "" where nothing is."""
    program = _program()
    if program is None or not program.is_file():
        return "the program is not installed: pip install 'agent-policy[live]'"
    if shutil.which("bwrap") is None:
        return "bubblewrap is not installed: apt-get install bubblewrap"
    if not Path("/usr/bin/python3").exists():
        return "the sandbox needs /usr/bin/python3"
    tried = subprocess.run(
        [*_bubblewrap(), "--ro-bind", "/usr", "/usr", "/usr/bin/true"],
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    return f"bubblewrap cannot run here: {tried.stderr.strip()}" if tried.returncode else ""


def _bubblewrap() -> list[str]:
    links = ("bin", "lib", "lib64", "sbin")
    return [
        *("bwrap", "--unshare-all", "--uid", "1000", "--gid", "1000", "--die-with-parent"),
        *("--new-session", "--clearenv", "--cap-drop", "ALL", "--hostname", "sandbox"),
        *(part for name in links for part in ("--symlink", f"usr/{name}", f"/{name}")),
    ]


def run(session: dict[str, Any], etc: dict[str, str], shown: Sequence[Path] = ()) -> dict[str, Any]:
    """Return the answers of one session (see `tests.live.inside`).

    Folders that are *shown* are there under their names, and cannot be changed.

    Raises `RuntimeError` where the program did not get as far as an answer.
    """
    program = _program()
    if program is None:
        raise RuntimeError(missing())
    with tempfile.TemporaryDirectory(prefix="live-") as name:
        folder = Path(name)
        out = folder / "out"
        out.mkdir()
        out.chmod(0o777)
        for file, text in {**_ETC, **etc}.items():
            path = folder / "etc" / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        (out / "session.json").write_text(json.dumps(session))
        command = [
            *_bubblewrap(),
            *("--ro-bind", "/usr", "/usr", "--proc", "/proc", "--dev", "/dev"),
            *(part for each in _PRIVATE for part in ("--tmpfs", each)),
            *(part for each in shown for part in ("--ro-bind", str(each), str(each))),
            *("--ro-bind", str(folder / "etc"), "/etc", "--bind", str(out), "/out"),
            *("--ro-bind", str(program), "/live/claude"),
            *("--ro-bind", str(_INSIDE), "/live/inside"),
            *("--remount-ro", "/", "--chdir", "/srv"),
            *("--setenv", "PATH", "/usr/bin:/bin", "--setenv", "HOME", "/home/alice"),
            *("/usr/bin/python3", "-B", "/live/inside"),
        ]
        try:
            ended = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=session["seconds"] + 15,
                check=False,
            )
            said = ended.stderr
        except subprocess.TimeoutExpired:
            said = "time is up"
        answers = out / "answers.json"
        if not answers.exists():
            raise RuntimeError(said[-1500:] or "the session ended without answers")
        found: dict[str, Any] = json.loads(answers.read_text())
        return found
