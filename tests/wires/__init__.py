"""A watch for new things on the wires: compares the types of the providers' SDKs with our readers.

``python -m tests.wires`` makes one sample of each field, enum value, event, step and delta that the
types of the installed SDKs have. Each sample goes through the reader and the oracle of its
provider. What they do not know is listed; ``accepted.yaml`` has what is accepted, with the reason.
"""
