"""Proves that specs and laws detect faults: mutation testing, and strategies for property tests.
Compares the reader of a wire with a second one.
"""
