//! The adapter under test: turns the bytes of Gemini's stream into events. Yours takes its place.

use serde_json::Value;

/// An event of the adapter.
pub enum Event {
    Text(String),
    Thought(String),
    Call(Value),
    Usage(Value),
    End(String),
    Error(Value),
    Other(Value),
}

/// Reads a stream that arrives in pieces, which are cut anywhere.
#[derive(Default)]
pub struct Reader {
    rest: Vec<u8>,
}

impl Reader {
    /// Returns the events that this piece completes.
    pub fn feed(&mut self, piece: &[u8]) -> Result<Vec<Event>, serde_json::Error> {
        self.rest.extend(piece);
        let mut events = Vec::new();
        while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.rest.drain(..=end).collect();
            if let Some(data) = line.strip_prefix(b"data:") {
                events.extend(events_of(&serde_json::from_slice(data)?));
            }
        }
        Ok(events)
    }
}

fn events_of(message: &Value) -> Vec<Event> {
    let mut events = Vec::new();
    if let Some(error) = message.get("error") {
        events.push(Event::Error(error.clone()));
    }
    let candidate = &message["candidates"][0];
    for part in candidate["content"]["parts"]
        .as_array()
        .into_iter()
        .flatten()
    {
        events.push(match part["text"].as_str() {
            _ if part.get("functionCall").is_some() => Event::Call(part.clone()),
            Some(text) if part["thought"] == true => Event::Thought(text.into()),
            Some(text) => Event::Text(text.into()),
            None => Event::Other(part.clone()),
        });
    }
    if let Some(usage) = message.get("usageMetadata") {
        events.push(Event::Usage(usage.clone()));
    }
    let block = message["promptFeedback"]["blockReason"].as_str();
    if let Some(reason) = block.or(candidate["finishReason"].as_str()) {
        events.push(Event::End(reason.into()));
    }
    events
}
