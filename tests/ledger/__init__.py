"""The ledger: the verdicts of the harness on all that is shipped, and what has changed in them."""
