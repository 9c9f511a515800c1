"""Drivers: each asks one kind of provider while its answers are recorded."""
