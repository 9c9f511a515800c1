"""Adapters with one fault each: the cases and the laws must go red on every one of them."""
