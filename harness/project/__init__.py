"""The project of a user: its folders, its specs, its configured adapters and its recordings."""
