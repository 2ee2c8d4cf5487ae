"""`python -m logphase`: the console script, where it is not on the PATH."""

from __future__ import annotations

import sys

from logphase.cli import main

if __name__ == "__main__":
    sys.exit(main())
