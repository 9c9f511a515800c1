import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

class ConformanceTest {
    @Test
    void theAdapterKeepsAllThatGeminiSent() throws IOException, InterruptedException {
        var program = "java -cp " + System.getProperty("java.class.path") + " Program";
        var judge = new ProcessBuilder("uvx", "gemini-conformance", "judge", "serve: " + program,
                "--questions", "none", "--cassettes", "gemini-api/text", "gemini-api/framing",
                "gemini-api/parallel-calls", "gemini-api/finish-reasons");
        var process = judge.redirectErrorStream(true).start();
        var output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertEquals(0, process.waitFor(), output);
    }
}
