"""`python -m prudent.command_line`, for where the `prudent` script is not on the path."""

import sys

from prudent.command_line import main

sys.exit(main())
