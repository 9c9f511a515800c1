"""Proves that specs and laws detect faults: mutation testing, and strategies for property tests."""
