"""Keeps secrets out of files and messages.

A redactor replaces the values at places for credentials. It finds them in the bytes, not in decoded
values: so a body that was cut, or that is no JSON, is redacted too, and all its other bytes stay. A
guard then searches the final bytes, decoded in all ways. A mask asks both for the texts of a
message, a row or a report, once: when a row is made or read, or when a text is printed.
"""
