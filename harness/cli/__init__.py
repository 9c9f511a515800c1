"""The ``harness`` command. Each command has its own file. `main` is the entry point."""
