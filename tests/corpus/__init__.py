"""Loads and replays each recording of a third-party folder, and compares it with two independent
readers.
"""
