"""The program that Claude Code starts for each call.

    python -I -S client.py [--resident] …

Python compiles this file again at every start, so it only imports modules that stay compiled.
"""

import sys


def _main() -> int:
    try:
        sys.path.append(_root())
        from policy.adapters.hook.entry import run  # noqa: PLC0415  # found there

        run()
    except BaseException:  # noqa: BLE001  # any failure must block the call
        sys.stderr.write("This call is blocked: the policy hook is not installed completely\n")
    return 2


def _root() -> str:
    """Return the folder of the package that holds this file, never the folder of the call."""
    root, _, name = __file__.rpartition("/policy/adapters/hook/")
    if name != "client.py":
        raise ImportError(__file__)
    return root


if __name__ == "__main__":
    sys.exit(_main())
