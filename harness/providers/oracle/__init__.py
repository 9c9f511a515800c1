"""The oracle: an independent, plain reader of a raw wire.

The readers return `Facts`; law 3 (nothing lost, nothing invented) compares these. From this
package it imports only the vocabulary of facts.
"""
