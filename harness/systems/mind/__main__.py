"""``python -m harness.systems.mind``."""

import sys

from .main import main

sys.exit(main())
