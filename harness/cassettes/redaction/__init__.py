"""Redaction: what may be a secret is taken out of a recording, and every file is scanned before it
is written.
"""
