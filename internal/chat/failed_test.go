package chat_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"toolbelt/internal/chat"
)

func TestResultsThatLookLikeErrors(t *testing.T) {
	call := func(id, name string) string {
		return fmt.Sprintf(`{"role":"assistant","tool_calls":[{"id":%q,"type":"function","function":{"name":%q,"arguments":"{}"}}]}`, id, name)
	}
	result := func(id, content string) string {
		text, _ := json.Marshal(content)
		return fmt.Sprintf(`{"role":"tool","tool_call_id":%q,"content":%s}`, id, text)
	}
	const ask = `{"role":"user","content":"do it"}`
	for name, c := range map[string]struct {
		messages []string
		failed   []string
	}{
		"good":              {[]string{ask, call("1", "a"), result("1", "done")}, nil},
		"error text":        {[]string{ask, call("1", "a"), result("1", "Error: no such file")}, []string{"a"}},
		"error member":      {[]string{ask, call("1", "a"), result("1", `{"error": "no such file"}`)}, []string{"a"}},
		"no error member":   {[]string{ask, call("1", "a"), result("1", `{"error": null, "result": 4}`)}, nil},
		"empty error":       {[]string{ask, call("1", "a"), result("1", `{"error":"","result":4}`)}, nil},
		"not a success":     {[]string{ask, call("1", "a"), result("1", `{"success": false}`)}, []string{"a"}},
		"a success":         {[]string{ask, call("1", "a"), result("1", `{"success": true}`)}, nil},
		"status":            {[]string{ask, call("1", "a"), result("1", `{"status": "error"}`)}, []string{"a"}},
		"traceback":         {[]string{ask, call("1", "a"), result("1", "Traceback (most recent call last):\n x")}, []string{"a"}},
		"said later":        {[]string{ask, call("1", "a"), result("1", "The log has three lines with error in them")}, nil},
		"tried again":       {[]string{ask, call("1", "a"), result("1", "error"), call("2", "a"), result("2", "done")}, nil},
		"two, one bad":      {[]string{ask, call("1", "a"), call("2", "b"), result("2", "failed: x"), result("1", "ok")}, []string{"b"}},
		"of a former turn":  {[]string{ask, call("1", "a"), result("1", "error"), ask}, nil},
		"by name":           {[]string{ask, call("", "a"), call("", "b"), `{"role":"tool","tool_name":"b","content":"Exception: x"}`}, []string{"b"}},
		"by order":          {[]string{ask, call("", "a"), call("", "b"), `{"role":"tool","content":"x"}`, `{"role":"tool","content":"FATAL"}`}, []string{"b"}},
		"function":          {[]string{ask, `{"role":"assistant","function_call":{"name":"f","arguments":"{}"}}`, `{"role":"function","name":"f","content":"[Error] x"}`}, []string{"f"}},
		"parts":             {[]string{ask, call("1", "a"), `{"role":"tool","tool_call_id":"1","content":[{"type":"text","text":"Error"}]}`}, []string{"a"}},
		"of nobody":         {[]string{ask, result("9", "error")}, nil},
		"no text":           {[]string{ask, call("1", "a"), `{"role":"tool","tool_call_id":"1","content":null}`}, nil},
		"an escape in it":   {[]string{ask, call("1", "a"), `{"role":"tool","tool_call_id":"1","content":"\u0065rror"}`}, []string{"a"}},
		"a lone quote mark": {[]string{ask, call("1", "a"), `{"role":"tool","tool_call_id":"1","content":"\""}`}, nil},
	} {
		body := `{"messages":[`
		for i, m := range c.messages {
			if i > 0 {
				body += ","
			}
			body += m
		}
		r, err := chat.Decode(chat.OpenAI, []byte(body+`]}`))
		if err != nil || !slices.Equal(r.Failed, c.failed) {
			t.Errorf("%s: failed %q, %v; want %q", name, r.Failed, err, c.failed)
		}
	}
}
