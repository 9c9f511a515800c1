"""The pipeline: an exchange becomes payloads, a prompt becomes a request."""
