"""art: ArtStandardPrompt and its StreamEvents."""
