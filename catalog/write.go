package catalog

import "encoding/json"

// JSON writes tools as a JSON array in the shape of OpenAI's and Ollama's requests: what Parse reads. No tools are the empty array. An error says that
// a schema is not JSON.
func JSON(tools []Tool) ([]byte, error) {
	type function struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters,omitempty"`
	}
	type element struct {
		Type     string   `json:"type"`
		Function function `json:"function"`
	}
	list := make([]element, len(tools))
	for i, t := range tools {
		list[i] = element{"function", function{t.Name, t.Description, json.RawMessage(t.Schema)}}
	}
	text, err := json.Marshal(list)
	if err != nil {
		return nil, NewError(Invalid, "writing tools as JSON", err)
	}
	return text, nil
}
