"""Coverage-guided fuzzing of the readers of untrusted bytes: ``python -m tests.fuzz TARGET``."""
