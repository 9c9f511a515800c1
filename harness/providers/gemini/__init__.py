"""The reader of Gemini's generateContent wire, which three providers share."""
