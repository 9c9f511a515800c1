"""agent-events: Gemini CLI output as AgentEvents."""
