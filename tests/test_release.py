"""A release, as people get it: `python -m pytest -m release`, which needs `.[release]`.

It builds from a copy of the files that git knows, installs what was built in empty environments,
with the oldest and the newest dependencies that are allowed, and tries it from another folder.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

import policy

ROOT = Path(__file__).parent.parent
FORCED = "git push --force"

pytestmark = pytest.mark.release


def run(*command: str | Path, cwd: Path = ROOT, status: int = 0, given: str = "") -> str:
    """Return what *command* prints; its exit status must be *status*."""
    done = subprocess.run(
        [*map(str, command)], cwd=cwd, input=given, capture_output=True, text=True, check=False
    )
    said = done.stdout + done.stderr
    assert done.returncode == status, f"{' '.join(map(str, command))}\n{said}"
    return said


def tool(name: str, *arguments: str | Path, cwd: Path = ROOT, status: int = 0) -> str:
    """Run a tool of the extra `release`."""
    return run(sys.executable, "-m", name, *arguments, cwd=cwd, status=status)


def build(folder: Path) -> list[Path]:
    """Return what is built from a copy of the files that git knows: the sdist and the wheel."""
    copy = folder / "copy"
    for name in run("git", "ls-files", "-z").rstrip("\0").split("\0"):
        if (ROOT / name).exists():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, copy / name)
            (copy / name).chmod((ROOT / name).stat().st_mode)
    tool("build", "--outdir", folder / "dist", copy)
    return sorted((folder / "dist").iterdir())


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Sequence[Path]:
    return build(tmp_path_factory.mktemp("first"))


def names(archive: Path) -> list[str]:
    if archive.suffix == ".whl":
        return zipfile.ZipFile(archive).namelist()
    with tarfile.open(archive) as opened:
        return opened.getnames()


def test_two_builds_are_equal_byte_for_byte(built: Sequence[Path], tmp_path: Path) -> None:
    def hashes(files: Sequence[Path]) -> dict[str, str]:
        return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}

    assert hashes(built) == hashes(build(tmp_path))


def test_the_archives_are_of_this_version_and_hold_what_they_should(
    built: Sequence[Path],
) -> None:
    wheel, sdist = sorted(built, key=lambda file: file.suffix != ".whl")
    base = f"agent_policy-{policy.__version__}"
    assert (wheel.name, sdist.name) == (f"{base}-py3-none-any.whl", f"{base}.tar.gz")
    tops = {name.split("/")[0] for name in names(wheel)}
    assert tops == {"policy", f"{base}.dist-info", f"{base}.data"}
    tracked = run("git", "ls-files", "-z", "policy").rstrip("\0").split("\0")
    assert {name for name in tracked if (ROOT / name).exists()} <= {*names(wheel)}
    below = {name.split("/")[1] for name in names(sdist) if "/" in name}
    assert {"policy", "grammar", "tests", "fixtures", "docs", "README.md", "LICENSE"} <= below
    assert not [name for name in (*names(wheel), *names(sdist)) if "__pycache__" in name]


def test_the_description_renders(built: Sequence[Path]) -> None:
    assert "FAILED" not in tool("twine", "check", "--strict", *built)


def test_the_changelog_has_an_entry_with_a_date_for_this_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    first = re.search(r"^## (\S+) \((.+)\)$", text, re.MULTILINE)
    assert first
    assert first[1] == policy.__version__
    assert re.fullmatch(r"\d{4}-\d{2}-\d{2}", first[2]), first[2]


INSTALLS = [
    pytest.param("wheel", "highest", "", id="wheel"),
    pytest.param("wheel", "lowest-direct", "", id="wheel, oldest"),
    pytest.param("wheel", "highest", "[bash,replay]", id="wheel and extras"),
    pytest.param("wheel", "lowest-direct", "[bash,replay]", id="wheel and extras, oldest"),
    pytest.param("sdist", "highest", "", id="sdist"),
]


@pytest.mark.parametrize(("archive", "resolution", "extras"), INSTALLS)
def test_what_was_built_works_in_an_empty_environment(
    built: Sequence[Path], tmp_path: Path, archive: str, resolution: str, extras: str
) -> None:
    file = next(file for file in built if (file.suffix == ".whl") == (archive == "wheel"))
    environment = tmp_path / "environment"
    tool("uv", "venv", "--quiet", "--python", sys.executable, environment)
    programs = environment / "bin"
    install = ("pip", "install", "--quiet", "--python", programs / "python")
    tool("uv", *install, "--resolution", resolution, f"{file}{extras}")
    shutil.copytree(ROOT / "fixtures" / "team", tmp_path / "team")

    def ours(*arguments: str, status: int = 0) -> str:
        return run(programs / "policy", *arguments, cwd=tmp_path, status=status)

    assert ours("--version") == f"policy {policy.__version__}\n"
    assert "3 agents" in ours("audit", "team")
    assert "passed" in ours("test", "team")
    assert "read-through-shell" in ours("lint", "team", status=1)
    ours("audit", "team", "--output", "html=audit.html", "--output", "sarif=audit.sarif")
    ours("convert", "team", "--to", "pikuri", "-o", "converted")
    assert "differs" in ours("diff", "team", "team")
    ours("compile", "team", "-o", "policy.json")
    assert ours("check", "policy.json", f"Bash({FORCED})", status=1).startswith("deny")
    # Only the grammar, of the extra `bash`, reads this command.
    settings = ROOT / "docs" / "examples" / "monorepo" / ".claude"
    shutil.copytree(settings, tmp_path / "project" / ".claude")
    loop = ("check", "project", "Bash(if npm test; then npm test; fi)")
    effect = "allow" if extras else "ask"
    assert ours(*loop, status=0 if extras else 1).startswith(effect)
    calls = ROOT / "docs" / "examples" / "calls.jsonl"
    assert "9 calls" in ours("replay", str(calls), "--policy", "team")
    run(programs / "policy-hook", cwd=tmp_path, status=2, given="{}")
    said = "import policy; print(policy.load('team').chain('main').decide('Read', {}).effect)"
    run(programs / "python", "-c", said, cwd=tmp_path)


def test_no_dependency_has_a_known_vulnerability(built: Sequence[Path], tmp_path: Path) -> None:
    wheel = next(file for file in built if file.suffix == ".whl")
    tool("uv", "venv", "--quiet", "--python", sys.executable, tmp_path / "environment")
    python = tmp_path / "environment" / "bin" / "python"
    tool("uv", "pip", "install", "--quiet", "--python", python, f"{wheel}[bash,replay]")
    frozen = tool("uv", "pip", "freeze", "--python", python)
    wanted = [line for line in frozen.splitlines() if "==" in line]
    assert wanted
    listed = tmp_path / "requirements.txt"
    listed.write_text("\n".join(wanted))
    done = subprocess.run(
        [sys.executable, "-m", "pip_audit", "--no-deps", "--disable-pip", "-r", str(listed)],
        capture_output=True,
        text=True,
        check=False,
    )
    said = done.stdout + done.stderr
    for line in said.splitlines():
        if "could not be audited" in line or "ConnectionError" in line:
            pytest.skip(f"the service is out of reach: {line}")
    assert done.returncode == 0, said
