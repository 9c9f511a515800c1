import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** Tells the harness the events of the adapter and the facts in them: one line of JSON for each exchange. */
final class Program {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] arguments) throws IOException {
        try (var out = new FileOutputStream("/dev/fd/" + System.getenv("HARNESS_OUT"))) {
            write(out, Map.of("hello", 1, "name", "my-adapter", "version", "1.0", "language", "java",
                    "turns", 1, "thoughts", false, "providers", List.of("gemini-api")));
            var adapter = new Adapter();
            var lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
            for (var line = lines.readLine(); line != null; line = lines.readLine()) {
                write(out, answer(adapter, JSON.readTree(line)));
            }
        }
    }

    private static Map<String, Object> answer(Adapter adapter, JsonNode given) {
        var id = given.get("id");
        if (!given.get("stream").asBoolean()) {
            return Map.of("id", id, "skipped", "the adapter asks for streams only");
        }
        var events = new ArrayList<Adapter.Event>();
        var line = new HashMap<String, Object>(Map.of("id", id));
        try {
            adapter.ask(given.get("base_url").asText(), given.get("model").asText(),
                    given.get("prompt").asText(), events::add);
        } catch (Exception error) {
            var raised = new HashMap<String, Object>(Map.of("type", error.getClass().getSimpleName()));
            raised.put("message", String.valueOf(error.getMessage()));
            raised.put("code", error instanceof Adapter.Failure ? ((Adapter.Failure) error).status : null);
            line.put("raised", raised);
        }
        line.put("native", events);
        line.put("facts", events.stream().map(Program::facts).collect(Collectors.toList()));
        line.putIfAbsent("raised", null);
        return line;
    }

    private static List<Object> facts(Adapter.Event event) {
        var data = event.data;
        switch (event.kind) {
            case "text":
            case "thought":
                return List.of(Map.of(event.kind, data.get("text")));
            case "call":
                var call = new HashMap<String, Object>(Map.of("name", data.at("/functionCall/name")));
                call.put("id", data.at("/functionCall/id").textValue());
                var arguments = data.at("/functionCall/args");
                call.put("arguments", arguments.isMissingNode() ? Map.of() : arguments);
                return List.of(Map.of("call", call));
            case "usage":
                var usage = new HashMap<String, Object>();
                usage.put("input", data.get("promptTokenCount"));
                usage.put("output", data.get("candidatesTokenCount"));
                usage.put("thoughts", data.get("thoughtsTokenCount"));
                usage.put("total", data.get("totalTokenCount"));
                return List.of(Map.of("usage", usage));
            case "end":
                return List.of(Map.of("finish", data));
            default:
                return List.of();
        }
    }

    private static void write(OutputStream out, Map<String, Object> line) throws IOException {
        out.write((JSON.writeValueAsString(line) + "\n").getBytes(StandardCharsets.UTF_8));
    }
}
