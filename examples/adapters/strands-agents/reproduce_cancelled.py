from google.genai.types import LiveServerMessage
from strands.bidi.models.google import GoogleGeminiLiveModel, _TurnState
model = GoogleGeminiLiveModel(client_args={"api_key": "none"}, model_id="gemini-3.8-live")
message = LiveServerMessage.model_validate({"toolCallCancellation": {"ids": ["fc_2"]}})
print(model._convert_gemini_live_event(message, _TurnState()))
