"""Coverage-guided fuzzing of whatever reads bytes or text of others: ``python -m tests.fuzz
TARGET``.
"""
