"""Specs: reads YAML text into cases, with a file and a line in every error, and fills in accepted
expectations.

`models` has the shapes of the files and their JSON Schema. `reader` turns text into them and finds
all faults. `checks` checks names and dates. `accept` fills an empty expectation and changes no
other character; `update` rewrites the parts of one that no longer hold. This package opens no file
and reads no clock: text, known names and the date come from the caller.
"""
