"""unified-llm: unified messages and their StreamEvents."""
