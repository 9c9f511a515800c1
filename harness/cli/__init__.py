"""The ``harness`` command: one file per command; `main` is the entry point."""
