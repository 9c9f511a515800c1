# frozen_string_literal: true

# Tells the harness the events of the adapter and the facts in them: one line of JSON for each exchange.
require_relative "adapter"

OUT = IO.for_fd(Integer(ENV.fetch("HARNESS_OUT")), "w").tap { |out| out.sync = true }

def facts(event)
  case event
  in { kind: :text, text: } then [{ text: }]
  in { kind: :thought, text: } then [{ thought: text }]
  in { kind: :call, call: }
    [{ call: { id: call["id"], name: call["name"], arguments: call.fetch("args", {}) } }]
  in { kind: :usage }
    tokens = { input: "prompt", output: "candidates", thoughts: "thoughts", total: "total" }
    [{ usage: tokens.transform_values { |name| event["#{name}TokenCount"] } }]
  in { kind: :end, reason: } then [{ finish: reason }]
  else []
  end
end

OUT.puts JSON.generate(
  hello: 1, name: "my-adapter", version: "1.0", turns: 1, thoughts: false, providers: ["gemini-api"]
)
while (line = $stdin.gets)
  given = JSON.parse(line)
  unless given["stream"]
    OUT.puts JSON.generate(id: given["id"], skipped: "the adapter asks for streams only")
    next
  end
  native = []
  raised = nil
  begin
    Adapter.new.ask(*given.values_at("base_url", "model", "prompt")) { |event| native << event }
  rescue StandardError => e
    raised = { type: e.class.name, message: e.message, code: e.respond_to?(:status) ? e.status : nil }
  end
  OUT.puts JSON.generate(id: given["id"], native:, facts: native.map { |event| facts(event) }, raised:)
end
