"""Definitions from disk: where they are looked for, which of them count, what is left out.

Folders are read in the order of their priority, the files of one by name, and
the first definition of a name counts. A file that cannot be read fails the
whole if somebody named it on the command line; elsewhere it is left out.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePath
from typing import Final

import attrs

from policy.hosts.zeph.definition import PermissionMode, Profile, SubAgentDef
from policy.hosts.zeph.errors import Kind, ZephError
from policy.hosts.zeph.loader import MOST_FILES, Loaded, Loader, parse_file, with_scope
from policy.hosts.zeph.parsing import check_size

__all__ = [
    "MOST_FILES",
    "PROJECT",
    "Loaded",
    "Loader",
    "load",
    "load_all",
    "load_all_with_sources",
    "load_definitions",
    "resolve_paths",
    "scope_label",
    "with_scope",
]

# Where the definitions of a project are, from its folder.
PROJECT: Final = ".zeph/agents"

# Where those of a user are, from the home folder; and where the gate looks for them.
USER: Final = ".config/zeph/agents"
_GATED: Final = ".zeph/agents"

Named = str | PurePath


def scope_label(
    path: Named,
    cli: Iterable[Named] = (),
    user_dir: Named | None = None,
    extra_dirs: Iterable[Named] = (),
) -> str:
    """Return the scope a file is of, by the start of its path as written."""
    scopes: list[tuple[str, Named | None]] = [
        *(("cli", folder) for folder in cli),
        ("project", PROJECT),
        *((("user", user_dir),) if user_dir not in (None, "") else ()),
        *(("extra", folder) for folder in extra_dirs),
    ]
    for scope, folder in scopes:
        if folder is not None and PurePath(path).is_relative_to(PurePath(folder)):
            return scope
    return "unknown"


def resolve_paths(
    cli: Sequence[Named] = (),
    user_dir: Named | None = None,
    extra_dirs: Sequence[Named] = (),
    *,
    folder: Path = Path(),
    home: Path | None = None,
) -> tuple[Path, ...]:
    """Return where definitions are looked for, the first counting most.

    Args:
        cli: paths given on the command line.
        user_dir: the folder of the user; "" is none, None the usual one.
        extra_dirs: more folders.
        folder: the working folder.
        home: the home folder; None is that of whoever asks.

    Raises:
        ZephError: a path of the command line does not exist.

    """
    paths = []
    for given in cli:
        if not (folder / given).exists():
            raise ZephError(Kind.PATHS, f"--agents path does not exist: {given}")
        paths.append(Path(given))
    paths.append(Path(PROJECT))
    if user_dir is None:
        paths.append((home or Path.home()) / USER)
    elif user_dir != "":
        paths.append(Path(user_dir))
    paths += map(Path, extra_dirs)
    # A folder that is there twice counts where it is first, also by another name.
    unique = {os.path.realpath(folder / path): path for path in reversed(paths)}
    return tuple(path for path in dict.fromkeys(paths) if path in unique.values())


# --- reading ----------------------------------------------------------------------


def load(
    path: Named,
    boundary: Named | None = None,
    *,
    folder: Path = Path(),
    profile: Profile = Profile.ZEPH,
    scope: str | None = None,
) -> SubAgentDef:
    """Return the definition in one file.

    Args:
        path: of the file.
        boundary: a folder that it must really be in; None is no bound.
        folder: the working folder.
        profile: which Zeph reads it.
        scope: for the label of its source.

    Raises:
        ZephError: of kind ``Parse`` where it cannot be read, or as `parse`.

    """
    name = str(path)
    try:
        real = (folder / path).resolve(strict=True)
    except OSError as error:
        message = f"cannot resolve path: {error.strerror}"
        raise ZephError(Kind.PARSE, message, file=name) from None
    if boundary is not None and not real.is_relative_to((folder / boundary).resolve()):
        message = f"definition file escapes allowed directory boundary ({boundary})"
        raise ZephError(Kind.PARSE, message, file=name)
    try:
        check_size(real.stat().st_size, name)
        data = real.read_bytes()
    except OSError as error:
        raise ZephError(Kind.PARSE, f"cannot read file: {error.strerror}", file=name) from None
    check_size(len(data), name)
    definition = parse_file(name, data, profile)
    label = PurePath(path).name
    return attrs.evolve(definition, source=f"{scope}/{label}" if scope else label, file_path=real)


def load_all(
    paths: Iterable[Named], *, folder: Path = Path(), profile: Profile = Profile.ZEPH
) -> Loaded:
    """Return the definitions of *paths*, files or folders; none counts as of a user.

    No path is taken as named on the command line, so that nothing that cannot be
    read fails the load.
    """
    return load_all_with_sources(paths, (), "", (), folder=folder, profile=profile)


def load_all_with_sources(  # the four of Zeph, and how they are read
    ordered_paths: Iterable[Named],
    cli_agents: Sequence[Named] = (),
    config_user_dir: Named | None = None,
    extra_dirs: Sequence[Named] = (),
    *,
    folder: Path = Path(),
    profile: Profile = Profile.ZEPH,
    strict: bool = False,
) -> Loaded:
    """Return the definitions of *ordered_paths*, each as the scope of its path has it.

    Args:
        ordered_paths: files and folders, the first counting most.
        cli_agents: those that the command line names.
        config_user_dir: the folder of the user.
        extra_dirs: more folders.
        folder: the working folder.
        profile: which Zeph reads them.
        strict: whether hooks are left to projects and the command line alone,
            and a linked folder must be in the working folder.

    Raises:
        ZephError: a file that the command line names cannot be read.

    """
    loader = Loader(profile, strict)
    named = frozenset(map(PurePath, cli_agents))
    for given in ordered_paths:
        path, is_named = folder / given, PurePath(given) in named
        if path.is_file():
            # Nothing but the command line is to name files, so Zeph labels them all so.
            _load_file(loader, Path(given), None, "cli", folder, is_named=is_named)
        elif not path.is_dir():
            loader.absent.append(str(given))
        else:
            scope = scope_label(given, cli_agents, config_user_dir, extra_dirs)
            _load_folder(loader, Path(given), scope, folder, is_named=is_named)
    return loader.loaded


def _load_folder(loader: Loader, given: Path, scope: str, folder: Path, *, is_named: bool) -> None:
    names = sorted(entry.name for entry in (folder / given).iterdir() if entry.suffix == ".md")
    boundary: Path | None = None if is_named else given
    if loader.strict and scope == "project":
        boundary = folder
    for name in loader.cut(str(given), names):
        _load_file(loader, given / name, boundary, scope, folder, is_named=is_named)


def _load_file(
    loader: Loader, path: Path, boundary: Path | None, scope: str, folder: Path, *, is_named: bool
) -> None:
    try:
        definition = load(path, boundary, folder=folder, profile=loader.profile, scope=scope)
    except ZephError as error:
        if is_named:
            raise
        loader.skip(error)
    else:
        loader.take(definition, scope)


def load_definitions(
    paths: Sequence[Named], *, folder: Path = Path(), home: Path | None = None
) -> Loaded:
    """Return the definitions of *paths*, refused as a whole if a user's could go unasked.

    That is the way in that has a gate; `load_all_with_sources`, which Zeph goes
    by, has none. It knows the folder of a user by another name than the loader.

    Raises:
        ZephError: of kind ``Invalid``, where ``~/.zeph/agents`` is among the
            paths and any definition has another mode than ``default``.

    """
    gate = (home or Path.home()) / _GATED
    gated = os.path.realpath(gate)
    loaded = load_all(paths, folder=folder)
    if not gate.parent.is_dir() or gated not in {os.path.realpath(folder / path) for path in paths}:
        return loaded
    for definition in loaded.definitions:
        if definition.permissions.permission_mode is not PermissionMode.DEFAULT:
            message = (
                f"sub-agent '{definition.name}': non-default permission_mode is not allowed for"
                " user-level definitions (~/.zeph/agents/)"
            )
            span = definition.span("permissions.permission_mode")
            raise ZephError(Kind.INVALID, message, span)
    return loaded
