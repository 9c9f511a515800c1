"""The version of the rules by which an adapter is judged."""

from __future__ import annotations

from typing import Final

RULES: Final = 1
"""The results name it. A release raises it if the same events can get another verdict than before:
``make suite FREEZE=1`` refuses to freeze a suite with other verdicts and the same version.
"""
