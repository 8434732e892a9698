"""``python -m policy``."""

from __future__ import annotations

import sys

from policy.cli import main

if __name__ == "__main__":
    sys.exit(main())
