package gateway

import (
	"net/http/httptest"
	"os"
	"os/exec"
	"testing"
)

func TestTheGatewayKeepsAllThatGeminiSent(t *testing.T) {
	gemini := "127.0.0.1:8790" // the harness answers here in place of Gemini
	if address := os.Getenv("HARNESS_GATEWAY_ADDRESS"); address != "" {
		gemini = address
	}
	server := httptest.NewServer(New("http://" + gemini))
	defer server.Close()
	judge := exec.Command("uvx", "gemini-conformance", "judge",
		"gateway openai-chat: "+server.URL+"?turns=1&thoughts=false", "--questions", "none", "--cassettes",
		"gemini-api/text", "gemini-api/framing", "gemini-api/parallel-calls", "gemini-api/finish-reasons")
	if output, err := judge.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, output)
	}
}
