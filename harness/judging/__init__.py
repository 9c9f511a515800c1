"""The judge: compares the output of adapters with expectations, with the wire, and with itself."""
