// Package gateway is under test: a client asks it with OpenAI's Chat Completions, and it asks Gemini.
// Yours takes its place.
package gateway

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

type object = map[string]any

type message struct {
	Candidates []struct {
		Content struct {
			Parts []struct {
				Text         string
				Thought      bool
				FunctionCall *struct {
					ID   string
					Name string
					Args json.RawMessage
				}
			}
		}
		FinishReason string
	}
	UsageMetadata *struct{ PromptTokenCount, CandidatesTokenCount, ThoughtsTokenCount, TotalTokenCount int }
}

// New returns a gateway to the API of Gemini at this URL.
func New(gemini string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var chat struct {
			Model    string
			Messages []struct{ Role, Content string }
		}
		if err := json.NewDecoder(r.Body).Decode(&chat); err != nil {
			fail(w, http.StatusBadRequest, err.Error())
			return
		}
		contents := []object{}
		for _, m := range chat.Messages {
			role := m.Role
			if role == "assistant" {
				role = "model"
			}
			contents = append(contents, object{"role": role, "parts": []object{{"text": m.Content}}})
		}
		body, _ := json.Marshal(object{"contents": contents})
		address := fmt.Sprintf("%s/v1beta/models/%s:streamGenerateContent?alt=sse", gemini, chat.Model)
		answer, err := http.Post(address, "application/json", bytes.NewReader(body))
		if err != nil {
			fail(w, http.StatusBadGateway, err.Error())
			return
		}
		defer answer.Body.Close()
		if answer.StatusCode >= 400 {
			text, _ := io.ReadAll(answer.Body)
			fail(w, answer.StatusCode, string(text))
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		if err := pass(w, answer.Body); err != nil {
			write(w, object{"error": object{"code": http.StatusBadGateway, "message": err.Error()}})
		}
	})
}

// pass writes the chunks for a stream of Gemini.
func pass(w io.Writer, stream io.Reader) error {
	calls := 0
	var usage object
	lines := bufio.NewReader(stream)
	for {
		line, err := lines.ReadString('\n')
		if strings.HasPrefix(line, "data:") {
			var m message
			if err := json.Unmarshal([]byte(line[len("data:"):]), &m); err != nil {
				return err
			}
			if u := m.UsageMetadata; u != nil {
				usage = object{
					"prompt_tokens":             u.PromptTokenCount,
					"completion_tokens":         u.CandidatesTokenCount + u.ThoughtsTokenCount,
					"completion_tokens_details": object{"reasoning_tokens": u.ThoughtsTokenCount},
					"total_tokens":              u.TotalTokenCount,
				}
			}
			for _, candidate := range m.Candidates {
				for _, part := range candidate.Content.Parts {
					switch call := part.FunctionCall; {
					case call != nil:
						id, arguments := call.ID, string(call.Args)
						if id == "" {
							id = fmt.Sprintf("call_%d", calls)
						}
						if arguments == "" {
							arguments = "{}"
						}
						function := object{"name": call.Name, "arguments": arguments}
						delta := object{"index": calls, "id": id, "type": "function", "function": function}
						choose(w, object{"tool_calls": []object{delta}}, nil)
						calls++
					case part.Thought:
						choose(w, object{"reasoning_content": part.Text}, nil)
					case part.Text != "":
						choose(w, object{"content": part.Text}, nil)
					}
				}
				switch reason := candidate.FinishReason; {
				case reason == "STOP" && calls > 0:
					choose(w, object{}, "tool_calls")
				case reason == "STOP":
					choose(w, object{}, "stop")
				case reason == "MAX_TOKENS":
					choose(w, object{}, "length")
				case reason != "":
					choose(w, object{}, "content_filter")
				}
			}
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
	}
	if usage != nil {
		write(w, object{"object": "chat.completion.chunk", "choices": []object{}, "usage": usage})
	}
	_, err := io.WriteString(w, "data: [DONE]\n\n")
	return err
}

func choose(w io.Writer, delta object, reason any) {
	choices := []object{{"index": 0, "delta": delta, "finish_reason": reason}}
	write(w, object{"object": "chat.completion.chunk", "choices": choices})
}

func write(w io.Writer, message object) {
	data, _ := json.Marshal(message)
	fmt.Fprintf(w, "data: %s\n\n", data)
	if flusher, ok := w.(http.Flusher); ok {
		flusher.Flush()
	}
}

func fail(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(object{"error": object{"code": status, "message": message}})
}
