"""The mind program: a prompt on the command line, Gemini behind it, records on stdout.

`program` is the command and its loop, `files` and `acting` are its tools. Run it as ``python -m
harness.dialects.mind.program`` or ``harness-mind``.
"""
