"""Conformance: judges cells, tests adapters by laws, and tests specs by mutation."""
