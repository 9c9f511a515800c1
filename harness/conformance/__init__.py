"""Conformance: cells are judged, laws are asked of every replay, and specs are tested by
mutation.
"""
