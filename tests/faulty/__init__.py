"""Adapters with one fault each, to show that the cases and the laws go red: one module a
dialect.
"""
