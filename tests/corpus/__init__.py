"""Walks a folder of third-party recordings: each is loaded, replayed and compared with two
independent readers.
"""
