"""A walk over a folder of other people's recordings: every one is loaded, replayed and held against
two independent readers.
"""
