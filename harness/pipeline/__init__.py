"""The pipeline: replays exchanges into payloads, and translates prompts into requests."""
