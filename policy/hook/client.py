"""What the host starts for each call.

    python -I -S client.py [--resident] …

This file is compiled anew at every start, so it only leads to those that are not.
"""

import sys

__all__: "list[str]" = []


def _main() -> int:
    try:
        sys.path.append(__file__.rpartition("/policy/hook/")[0])
        from policy.hook.started import main  # noqa: PLC0415  # found there

        return main()
    except BaseException:  # noqa: BLE001  # whatever it is, it must not let the call through
        sys.stderr.write("This call is blocked: the program that asks the policy is not whole\n")
        return 2


if __name__ == "__main__":
    sys.exit(_main())
