import asyncio, sys
from google.adk import agents, models, runners
from google.genai.types import UserContent
def get_weather(city: str): return print(f"get_weather runs for {city}") or "rain"
async def talk(url, model, queue):
    runner = runners.InMemoryRunner(agents.Agent(name="agent", model=models.Gemini(model=model, base_url=url), tools=[get_weather]))
    session = await runner.session_service.create_session(app_name=runner.app_name, user_id="user")
    queue.send_content(UserContent("Hello."))
    async for event in runner.run_live(user_id="user", session_id=session.id, live_request_queue=queue): print(event)
asyncio.run(talk(*sys.argv[1:], agents.LiveRequestQueue()))
