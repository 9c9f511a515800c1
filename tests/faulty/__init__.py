"""Adapters with one fault each. The cases and the laws must find every fault."""
