"""What the host starts for each call.

    python -I -S client.py [--resident] …

This file is compiled anew at every start, so it only leads to those that are not.
"""

import sys

__all__: "list[str]" = []


def _main() -> int:
    try:
        sys.path.append(_root())
        from policy.adapters.hook.started import run  # noqa: PLC0415  # found there

        run()
    except BaseException:  # noqa: BLE001  # whatever it is, it must not let the call through
        sys.stderr.write("This call is blocked: the program that asks the policy is not whole\n")
    return 2


def _root() -> str:
    """Return the folder of the package that this file is in: never the one a call is made in."""
    root, _, name = __file__.rpartition("/policy/adapters/hook/")
    if name != "client.py":
        raise ImportError(__file__)
    return root


if __name__ == "__main__":
    sys.exit(_main())
