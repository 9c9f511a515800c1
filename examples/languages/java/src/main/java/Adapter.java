import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/** The adapter under test: asks Gemini, and turns the stream into events. Yours takes its place. */
final class Adapter {
    /** {@code kind} is text, thought, call, usage, end or other. */
    static final class Event {
        public final String kind;
        public final JsonNode data;

        Event(String kind, JsonNode data) {
            this.kind = kind;
            this.data = data;
        }
    }

    static final class Failure extends IOException {
        final int status;

        Failure(int status, String message) {
            super(message);
            this.status = status;
        }
    }

    private static final ObjectMapper JSON = new ObjectMapper();
    private final HttpClient client = HttpClient.newHttpClient();

    void ask(String baseUrl, String model, String prompt, Consumer<Event> events)
            throws IOException, InterruptedException {
        var uri = URI.create(baseUrl + "/v1beta/models/" + model + ":streamGenerateContent?alt=sse");
        var contents = List.of(Map.of("role", "user", "parts", List.of(Map.of("text", prompt))));
        var body = JSON.writeValueAsString(Map.of("contents", contents));
        var request = HttpRequest.newBuilder(uri).header("Content-Type", "application/json")
                .POST(HttpRequest.BodyPublishers.ofString(body)).build();
        var answer = client.send(request, HttpResponse.BodyHandlers.ofInputStream());
        if (answer.statusCode() >= 400) {
            var text = new String(answer.body().readAllBytes(), StandardCharsets.UTF_8);
            throw new Failure(answer.statusCode(), text);
        }
        var lines = new BufferedReader(new InputStreamReader(answer.body(), StandardCharsets.UTF_8));
        for (var line = lines.readLine(); line != null; line = lines.readLine()) {
            if (line.startsWith("data:")) {
                read(JSON.readTree(line.substring("data:".length())), events);
            }
        }
    }

    private static void read(JsonNode message, Consumer<Event> events) throws Failure {
        if (message.has("error")) {
            var error = message.get("error");
            throw new Failure(error.path("code").asInt(), error.path("message").asText());
        }
        var candidate = message.path("candidates").path(0);
        for (var part : candidate.path("content").path("parts")) {
            var text = part.path("thought").asBoolean() ? "thought" : "text";
            events.accept(new Event(part.has("functionCall") ? "call" : part.has("text") ? text : "other", part));
        }
        if (message.has("usageMetadata")) {
            events.accept(new Event("usage", message.get("usageMetadata")));
        }
        var block = message.path("promptFeedback").path("blockReason");
        var reason = block.isTextual() ? block : candidate.path("finishReason");
        if (reason.isTextual()) {
            events.accept(new Event("end", reason));
        }
    }
}
