import asyncio
from pydantic_ai import ModelRequest as Request, ModelResponse, ToolCallPart, ToolReturnPart, UserPromptPart
from pydantic_ai.direct import model_request
from pydantic_ai.models.google import GoogleModel
from pydantic_ai.providers.google import GoogleProvider
provider = GoogleProvider(api_key="none", base_url="http://127.0.0.1:8080")
failed = ToolReturnPart("f", "no", "a", outcome="failed")
history = [Request([UserPromptPart("Hi")]), ModelResponse([ToolCallPart("f", {}, "a")]), Request([failed])]
asyncio.run(model_request(GoogleModel("gemini-3.5-flash", provider=provider), history))
