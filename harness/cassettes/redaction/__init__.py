"""Keeps secrets out of files: redacts a recording, and scans the text of a file before it is
written.
"""
