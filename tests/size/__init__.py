"""Measures the size of the house, and compares it with the limits in ``size.toml``."""
