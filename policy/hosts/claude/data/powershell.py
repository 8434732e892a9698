"""What Claude Code 2.1.329 knows of PowerShell, as documented: none of it was observed."""

from __future__ import annotations

from typing import Final

__all__ = ["ALIASES", "SYSTEM_FOLDERS"]

_ALIASES: Final = {
    "add-content": "ac",
    "clear-content": "clc",
    "clear-host": "clear cls",
    "compare-object": "compare diff",
    "copy-item": "copy cp cpi",
    "foreach-object": "% foreach",
    "format-list": "fl",
    "format-table": "ft",
    "get-alias": "gal",
    "get-childitem": "dir gci ls",
    "get-command": "gcm",
    "get-content": "cat gc type",
    "get-help": "man",
    "get-history": "ghy h history",
    "get-item": "gi",
    "get-itemproperty": "gp",
    "get-location": "gl pwd",
    "get-member": "gm",
    "get-process": "gps ps",
    "get-service": "gsv",
    "get-unique": "gu",
    "get-variable": "gv",
    "group-object": "group",
    "import-module": "ipmo",
    "invoke-command": "icm",
    "invoke-expression": "iex",
    "invoke-item": "ii",
    "invoke-restmethod": "irm",
    "invoke-webrequest": "curl iwr wget",
    "measure-object": "measure",
    "move-item": "mi move mv",
    "new-alias": "nal",
    "new-item": "ni",
    "new-variable": "nv",
    "out-host": "oh",
    "pop-location": "popd",
    "push-location": "pushd",
    "remove-item": "del erase rd ri rm rmdir",
    "remove-itemproperty": "rp",
    "remove-variable": "rv",
    "rename-item": "ren rni",
    "resolve-path": "rvpa",
    "select-object": "select",
    "select-string": "sls",
    "set-alias": "sal",
    "set-content": "sc",
    "set-item": "si",
    "set-itemproperty": "sp",
    "set-location": "cd chdir sl",
    "set-variable": "set sv",
    "sort-object": "sort",
    "start-job": "sajb",
    "start-process": "saps start",
    "start-service": "sasv",
    "start-sleep": "sleep",
    "stop-process": "kill spps",
    "stop-service": "spsv",
    "tee-object": "tee",
    "where-object": "? where",
    "write-output": "echo write",
}
ALIASES: Final = {alias: name for name, short in _ALIASES.items() for alias in short.split()}

# What no mode removes anything from, below the root of a drive.
SYSTEM_FOLDERS: Final = (
    "windows", "program files", "program files (x86)", "programdata", "users",
)  # fmt: skip
