"""`python -m autograder`: the command `autograder`."""

import sys

from .cli import main

sys.exit(main())
