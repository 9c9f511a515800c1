"""mind: the records of the mind command-line program."""
