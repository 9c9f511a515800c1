//! Tells the harness the events of the adapter and the facts in them: one line of JSON for each exchange.

use adapter::{Event, Reader};
use serde_json::{json, Value};
use std::fs::OpenOptions;
use std::io::{self, BufRead, Write};

fn main() -> io::Result<()> {
    let descriptor = std::env::var("HARNESS_OUT").expect("HARNESS_OUT is set by the harness");
    let mut out = OpenOptions::new()
        .write(true)
        .open(format!("/dev/fd/{descriptor}"))?;
    let hello = json!({"hello": 1, "name": "my-adapter", "version": "1.0", "turns": 1, "providers": ["gemini-api"]});
    writeln!(out, "{hello}")?;
    for line in io::stdin().lock().lines() {
        let given: Value = serde_json::from_str(&line?)?;
        let answer = match given["stream"].as_bool() {
            Some(true) => answer(&given),
            _ => json!({"id": given["id"], "skipped": "the adapter reads streams only"}),
        };
        writeln!(out, "{answer}")?;
    }
    Ok(())
}

fn answer(given: &Value) -> Value {
    let (mut native, mut facts, mut raised) = (Vec::new(), Vec::new(), Value::Null);
    let mut reader = Reader::default();
    for read in given["exchange"]["reads"].as_array().into_iter().flatten() {
        let piece = base64::decode(read[1].as_str().unwrap_or_default())
            .expect("the harness writes base64");
        match reader.feed(&piece) {
            Ok(events) => events.iter().map(describe).for_each(|(event, fact)| {
                native.push(event);
                facts.push(fact);
            }),
            Err(error) => {
                raised = json!({"type": "serde_json::Error", "message": error.to_string(), "code": null});
                break;
            }
        }
    }
    json!({"id": given["id"], "native": native, "facts": facts, "raised": raised})
}

/// Returns the event as JSON, and the facts in it.
fn describe(event: &Event) -> (Value, Value) {
    match event {
        Event::Text(text) => (json!({ "text": text }), json!([{ "text": text }])),
        Event::Thought(text) => (json!({ "thought": text }), json!([{ "thought": text }])),
        Event::Call(part) => {
            let call = &part["functionCall"];
            let arguments = call.get("args").cloned().unwrap_or_else(|| json!({}));
            let fact = json!({"id": call["id"], "name": call["name"], "arguments": arguments});
            (part.clone(), json!([{ "call": fact }]))
        }
        Event::Usage(usage) => {
            let tokens = |name: &str| {
                usage
                    .get(format!("{name}TokenCount"))
                    .cloned()
                    .unwrap_or_default()
            };
            let fact = json!({"input": tokens("prompt"), "output": tokens("candidates"),
                              "thoughts": tokens("thoughts"), "total": tokens("total")});
            (usage.clone(), json!([{ "usage": fact }]))
        }
        Event::End(reason) => (json!({ "end": reason }), json!([{ "finish": reason }])),
        Event::Error(error) => (
            error.clone(),
            json!([{ "error": {"code": error["code"], "message": error["message"]} }]),
        ),
        Event::Other(part) => (part.clone(), json!([])),
    }
}
