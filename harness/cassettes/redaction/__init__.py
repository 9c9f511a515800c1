"""Keeps secrets out of files: redaction before a file is made, and a scan before it is written."""
