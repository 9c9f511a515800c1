"""anthropic: the Anthropic Messages stream and its requests."""
