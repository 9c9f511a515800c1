# frozen_string_literal: true

require "json"
require "net/http"

# The adapter under test: asks Gemini, and turns the stream into events. Yours takes its place.
class Adapter
  # An error of the service.
  class Failure < StandardError
    attr_reader :status

    def initialize(status, message)
      super(message)
      @status = status
    end
  end

  # Yields hashes with :kind, which is :text, :thought, :call, :usage, :end or :other.
  def ask(base_url, model, prompt, &)
    uri = URI("#{base_url}/v1beta/models/#{model}:streamGenerateContent?alt=sse")
    request = Net::HTTP::Post.new(uri, "Content-Type" => "application/json")
    request.body = JSON.generate(contents: [{ role: "user", parts: [{ text: prompt }] }])
    Net::HTTP.start(uri.host, uri.port, max_retries: 0) do |http|
      http.request(request) do |response|
        raise Failure.new(response.code.to_i, response.read_body) if response.code.to_i >= 400

        lines(response) { |line| read(JSON.parse(line.delete_prefix("data:")), &) if line.start_with?("data:") }
      end
    end
  end

  private

  def lines(response)
    rest = +""
    response.read_body do |bytes|
      rest << bytes
      yield rest.slice!(0..rest.index("\n")).force_encoding("UTF-8") while rest.include?("\n")
    end
    yield rest.force_encoding("UTF-8")
  end

  def read(message)
    raise Failure.new(message["error"]["code"], message["error"]["message"]) if message["error"]

    candidate = message.fetch("candidates", []).first || {}
    candidate.dig("content", "parts")&.each { |part| yield event(part) }
    yield message["usageMetadata"].merge(kind: :usage) if message["usageMetadata"]
    reason = message.dig("promptFeedback", "blockReason") || candidate["finishReason"]
    yield({ kind: :end, reason: }) if reason
  end

  def event(part)
    return { kind: :call, call: part["functionCall"], part: } if part["functionCall"]
    return { kind: :other, part: } unless part["text"]

    { kind: part["thought"] ? :thought : :text, text: part["text"], part: }
  end
end
