"""Attacks on the files and sockets of the hook, none of which makes it grant more.

In every test the sources deny `git push --force x`, or cannot be read.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import policy
from policy.adapters.hook import client, handover
from policy.adapters.hook.deciding import HookDecider
from policy.adapters.hook.store import Store
from policy.core.errors import PolicyError
from policy.tables.compiled import compiled_to_json
from tests.hook.session import POLICY, WIDER, Session, end_residents, said

FORCED = "git push --force x"
NOT_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="another user's files need root")
OTHER_USER = 12345


def cache_folder(session: Session) -> Path:
    return session.home / ".cache" / "agent-policy"


def socket_of(session: Session) -> Path:
    return Path(handover.socket_path(session.environment))


def resident(session: Session) -> tuple[Path, int]:
    """Return where the resident process listens, and its number."""
    session.new_process("git status", "--resident")
    path = socket_of(session)
    while not path.exists():
        os.sched_yield()
    return path, int(Path(f"{path}.lock").read_text())


# --- files of the policy ---------------------------------------------------------


def test_a_change_of_equal_size_and_time_is_seen(session) -> None:
    """Both processes: the one that stays, and one that finds what the first one kept."""
    file = session.project / "team.policy"
    other = POLICY.replace("deny  Bash(git push --force *),", "allow Bash(git push --force *),")
    other = other.replace(
        "    ask   Bash(git push *)\n", "#" * len("    ask   Bash(git push *)") + "\n"
    )
    assert len(other) == len(POLICY)
    resident(session)
    before = file.stat()
    for text, effect in ((other, "allow"), (POLICY, "deny"), (other, "allow"), (POLICY, "deny")):
        file.write_text(text)
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert session.new_process(FORCED, "--resident") == effect
        session.decider = HookDecider()
        assert session.bash(FORCED) == effect


@pytest.mark.parametrize("stamp", [0, 4_000_000_000])
def test_times_in_the_past_or_the_future_change_nothing(alone, stamp) -> None:
    file = alone.project / "team.policy"
    assert alone.bash(FORCED) == "deny"
    file.write_text(WIDER)
    alone.bash(FORCED)
    file.write_text(POLICY)
    for path in (file, *cache_folder(alone).iterdir()):
        os.utime(path, (stamp, stamp))
    alone.decider = HookDecider()
    assert alone.bash(FORCED) == "deny"


def test_a_removed_policy_grants_nothing(session) -> None:
    resident(session)
    file = session.project / "team.policy"
    file.rename(session.project / "team.old")
    session.blocked_process(session.good(), "--resident")
    session.blocked_process(session.good())
    shutil.rmtree(session.project)
    session.project.mkdir()
    session.blocked_process(session.good(), "--resident")


def test_a_removed_or_truncated_compiled_policy_grants_nothing(session) -> None:
    file = session.project / "policy.json"
    text = compiled_to_json(policy.load(session.project))
    options = ("--resident", "policy.json")
    file.write_text(text)
    assert session.new_process(FORCED, *options) == "deny"
    resident(session)
    for spoiled in (text[:-1], text[: len(text) // 2], text[:20], "", text + "\n", text + text):
        file.write_text(spoiled)
        session.blocked_process(session.good(), *options)
    file.unlink()
    session.blocked_process(session.good(), *options)
    file.symlink_to("/dev/zero")
    session.blocked_process(session.good(), *options)
    file.unlink()
    os.mkfifo(file)
    session.blocked_process(session.good(), *options)


def test_a_compiled_policy_read_during_a_write_is_old_or_new(session) -> None:
    """A writer that truncates and writes in place: what is read is one of both, or blocks."""
    file = session.project / "policy.json"
    texts = [compiled_to_json(policy.load(session.project))]
    session.write("team.policy", POLICY.replace("Bash(git push --force *)", "Bash(git push *)"))
    texts.append(compiled_to_json(policy.load(session.project)))
    ended = threading.Event()

    def write() -> None:
        while not ended.is_set():
            for text in texts:
                file.write_text(text)

    file.write_text(texts[0])
    writing = threading.Thread(target=write)
    writing.start()
    found = set()
    try:
        for _ in range(150):
            try:
                found.add(session.bash(FORCED, "policy.json"))
            except PolicyError as error:
                assert error.file == str(file)
    finally:
        ended.set()
        writing.join()
    assert found <= {"deny"}


# --- what is kept ----------------------------------------------------------------


@pytest.mark.parametrize("name", ["the cache", "the key", "the key's folder"])
def test_a_link_to_a_folder_or_the_key_is_not_followed(alone, name) -> None:
    elsewhere = alone.home / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    (elsewhere / "cache.key").write_bytes(bytes(32))
    (elsewhere / "cache.key").chmod(0o600)
    link, target = {
        "the cache": (cache_folder(alone), elsewhere),
        "the key": (alone.home / ".config/agent-policy/cache.key", elsewhere / "cache.key"),
        "the key's folder": (alone.home / ".config/agent-policy", elsewhere),
    }[name]
    link.parent.mkdir(parents=True, mode=0o700)
    link.symlink_to(target)
    assert alone.bash(FORCED) == "deny"
    assert [path.name for path in elsewhere.iterdir()] == ["cache.key"]
    assert Store.of(alone.environment) is None


def test_a_key_that_others_can_read_or_that_is_short_is_rejected(alone) -> None:
    assert Store.of(alone.environment) is not None
    key = alone.home / ".config/agent-policy/cache.key"
    key.chmod(0o644)
    assert Store.of(alone.environment) is None
    key.chmod(0o600)
    key.write_bytes(b"short")
    assert Store.of(alone.environment) is None
    assert alone.bash(FORCED) == "deny"


@NOT_ROOT
@pytest.mark.parametrize("place", [".cache/agent-policy", ".config/agent-policy"])
def test_a_folder_of_another_user_is_not_used(alone, place) -> None:
    folder = alone.home / place
    folder.mkdir(parents=True, mode=0o700)
    os.chown(folder, OTHER_USER, OTHER_USER)
    assert Store.of(alone.environment) is None
    assert alone.bash(FORCED) == "deny"
    assert not list(folder.iterdir())


@NOT_ROOT
def test_an_entry_of_another_user_is_not_taken(alone) -> None:
    assert alone.bash(FORCED) == "deny"
    cache = Store.of(alone.environment)
    assert cache is not None
    for entry in cache_folder(alone).iterdir():
        os.chown(entry, OTHER_USER, OTHER_USER)
        assert cache.get(entry.name) is None


def test_folders_that_cannot_be_written_change_nothing(alone) -> None:
    """Neither cache, nor key, nor socket, nor TMPDIR."""
    prefix = []
    if os.geteuid() == 0:  # for whom no mode counts
        prefix = ["bwrap", "--ro-bind", "/", "/", "--dev-bind", "/dev", "/dev"]
        if (
            shutil.which("bwrap") is None
            or subprocess.run([*prefix, "true"], check=False).returncode
        ):
            pytest.skip("bubblewrap cannot run here")
    folders = alone.home, alone.runtime
    for folder in folders:
        folder.chmod(0o500)
    environment = {**alone.environment, "TMPDIR": "/nowhere"}
    data = json.dumps(alone.event("Bash", {"command": FORCED})).encode()
    for options in ([], ["--resident"], ["--resident"]):
        done = subprocess.run(
            [*prefix, sys.executable, "-I", "-S", client.__file__, *options],
            input=data, capture_output=True, env=environment, check=False,
        )  # fmt: skip
        assert (done.returncode, said(done.stdout)[0]) == (0, "deny"), done.stderr
    for folder in folders:
        folder.chmod(0o700)
        assert not list(folder.iterdir())


def test_many_edits_leave_a_bounded_number_of_entries(alone) -> None:
    cache = Store.of(alone.environment)
    assert cache is not None
    for number in range(80):
        cache.put(f"{number}", b"text")
    assert len(list(cache_folder(alone).iterdir())) == 64


# --- the resident process --------------------------------------------------------


def test_of_many_processes_started_at_once_one_stays_and_all_answer(session) -> None:
    data = json.dumps(session.event("Bash", {"command": FORCED})).encode()
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(session.run(data, "--resident").stdout))
        for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 6
    assert {said(one)[0] for one in found} == {"deny"}
    _, number = resident(session)
    for _ in range(3):
        assert session.new_process(FORCED, "--resident") == "deny"
    assert resident(session)[1] == number


def planted(session: Session, path: Path) -> socket.socket:
    """Put a process there that allows everything."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(path))
    path.chmod(0o600)
    listener.listen()
    listener.settimeout(0)
    return listener


def was_asked(listener: socket.socket) -> bool:
    try:
        listener.accept()[0].close()
    except BlockingIOError:
        return False
    return True


@NOT_ROOT
def test_a_socket_of_another_user_is_not_asked(session) -> None:
    path = socket_of(session)
    path.parent.mkdir(mode=0o700)
    with planted(session, path) as listener:
        os.chown(path, OTHER_USER, OTHER_USER)
        assert session.new_process(FORCED, "--resident") == "deny"
        assert not was_asked(listener)


@NOT_ROOT
def test_a_folder_that_another_user_made_first_is_not_used(session) -> None:
    """As in a shared folder, whose next user knows the name beforehand."""
    path = socket_of(session)
    session.runtime.chmod(0o777)
    path.parent.mkdir(mode=0o700)
    with planted(session, path) as listener:
        os.chown(path.parent, OTHER_USER, OTHER_USER)
        for _ in range(2):
            assert session.new_process(FORCED, "--resident") == "deny"
        assert not was_asked(listener)
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_a_link_in_the_place_of_the_socket_or_its_folder_is_not_followed(session) -> None:
    path = socket_of(session)
    elsewhere = session.runtime / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    with planted(session, elsewhere / path.name) as listener:
        path.parent.symlink_to(elsewhere)
        assert session.new_process(FORCED, "--resident") == "deny"
        path.parent.unlink()
        path.parent.mkdir(mode=0o700)
        path.symlink_to(elsewhere / path.name)
        assert session.new_process(FORCED, "--resident") == "deny"
        assert not was_asked(listener)


@pytest.mark.parametrize("runtime", ["relative", "/nowhere", "/" + "x" * 200, "/dev/null"])
def test_without_a_place_for_a_socket_each_process_decides(session, runtime) -> None:
    environment = {**session.environment, "XDG_RUNTIME_DIR": runtime}
    for _ in range(2):
        assert session.new_process(FORCED, "--resident", environment=environment) == "deny"


def test_a_resident_process_whose_package_was_changed_does_not_answer(session, tmp_path) -> None:
    library = tmp_path / "library"
    package = Path(policy.__file__).parent
    shutil.copytree(package, library / "policy", ignore=shutil.ignore_patterns("__pycache__"))
    if not (library / "policy" / "grammar").exists():
        shutil.copytree(package.parent / "grammar", library / "grammar")
    copied = library / "policy" / "adapters" / "hook" / "client.py"
    data = json.dumps(session.event("Bash", {"command": FORCED})).encode()

    def told() -> str:
        done = subprocess.run(
            [sys.executable, "-I", "-S", copied, "--resident"],
            input=data, capture_output=True, env=session.environment, check=True,
        )  # fmt: skip
        return said(done.stdout)[1]

    assert told().startswith("This call of `Bash` is denied")
    while not list(session.runtime.glob("*/*.lock")):
        os.sched_yield()
    messages = library / "policy" / "adapters" / "messages.py"
    messages.write_text(messages.read_text().replace("is denied: ", "is refused: "))
    assert told().startswith("This call of `Bash` is refused")
    end_residents(session.runtime)


# --- links in commands -----------------------------------------------------------

LINKED = """\
agent main {
    allow Bash(echo *), Bash(cat *), Write(src/**), Read(src/**)
    deny  Write(src/secret/**), Read(src/secret/**)
}
"""


def test_a_command_opens_the_targets_of_links(session) -> None:
    session.write("team.policy", LINKED)
    session.write("src/secret/x", "")
    session.write("src/a", "")
    source = session.project / "src"
    for name, target in {
        "link": "secret",
        "out": "/etc",
        "b": "a",
        "rules": "../team.policy",
    }.items():
        (source / name).symlink_to(target)
    answers = {
        "echo x > src/a": "allow",
        "echo x > src/b": "allow",  # a link to what may be written
        "echo x > src/link/x": "deny",
        "echo x > src/link/new": "deny",
        "echo x > src/none/../link/x": "deny",
        "echo x >> src/rules": "ask",  # which is the policy
        "echo x > src/out/passwd": "ask",
        "cat < src/b": "allow",
        "cat < src/link/x": "deny",
    }
    assert {command: session.bash(command) for command in answers} == answers
    elsewhere = {"echo x > b": "allow", "echo x > link/x": "deny"}
    assert {c: session.bash(c, cwd=str(source)) for c in elsewhere} == elsewhere


def test_a_project_behind_a_link_is_the_same(session, tmp_path) -> None:
    session.write("team.policy", LINKED)
    session.write("src/secret/x", "")
    (tmp_path / "other").symlink_to(session.project)
    session.environment["CLAUDE_PROJECT_DIR"] = str(tmp_path / "other")
    for command, effect in {"echo x > src/a": "allow", "echo x > src/secret/x": "deny"}.items():
        assert session.bash(command, cwd=str(tmp_path / "other")) == effect
        assert session.bash(command, cwd=str(session.project)) == effect
