"""`python -m retrograd` is the command `retrograd`."""

import sys

from retrograd.cli import main

if __name__ == "__main__":
    sys.exit(main())
