"""The output of the Antigravity CLI (``agy``) as a provider of gemini-conformance."""
