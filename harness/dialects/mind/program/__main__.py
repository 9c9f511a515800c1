"""``python -m harness.dialects.mind.program``."""

import sys

from .main import main

sys.exit(main())
