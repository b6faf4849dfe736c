package edittest_test

import (
	"strings"
	"testing"

	"toolbelt/internal/chat/edittest"
)

func ours() edittest.Ours {
	return edittest.Ours{Names: []string{"load_tools", "call_tool"}, Bridge: "call_tool"}
}

const (
	ollamaHidden    = `{"role":"assistant","content":"","tool_calls":[{"function":{"name":"load_tools","arguments":{}}}]},{"role":"tool","content":"ok","tool_name":"load_tools"}`
	openaiHidden    = `{"role":"assistant","tool_calls":[{"id":"h","function":{"name":"load_tools","arguments":"{}"}}]},{"role":"tool","content":"ok","tool_call_id":"h"}`
	responsesHidden = `{"role":"assistant","content":"I look"},{"type":"function_call","call_id":"h","name":"load_tools","arguments":"{}"},{"type":"function_call_output","call_id":"h","output":"ok"}`
	anthropicHidden = `{"role":"assistant","content":[{"type":"text","text":"I look"},{"type":"tool_use","id":"h","name":"load_tools","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"h","content":"ok"}]}`
)

func TestStrip(t *testing.T) {
	tools := ours()
	tools.Tools = []byte(`[ {"name":"a"}, {"name":"b"} ]`)
	appended, cut, parts, text := ours(), ours(), ours(), ours()
	appended.Appended = map[int]string{0: "+\n"}
	cut.Cut = map[int]string{0: `\u0041 `}
	parts.CutParts = map[int]string{0: `{"type":"text","text":"a"} , `}
	text.TextInput, text.Appended, text.Texts = true, map[int]string{0: "+"}, []string{"I look"}
	spoken := ours()
	spoken.Texts = []string{"I look"}
	for name, test := range map[string]struct {
		protocol     string
		ours         edittest.Ours
		edited, want string
	}{
		"nothing":              {"ollama", ours(), ` {"messages":[ ]} `, ` {"messages":[ ]} `},
		"tools":                {"anthropic", tools, `{"tools":[{"name":"b"},{"name":"load_tools"}]}`, `{"tools":[ {"name":"a"}, {"name":"b"} ]}`},
		"hidden at the start":  {"ollama", ours(), `{"messages":[ ` + ollamaHidden + `,{"role":"user"} ]}`, `{"messages":[ {"role":"user"} ]}`},
		"hidden at the end":    {"openai", ours(), `{"messages":[{"role":"user"},` + openaiHidden + ` ]}`, `{"messages":[{"role":"user"} ]}`},
		"hidden twice":         {"openai", ours(), `{"messages":[{"role":"user"},` + openaiHidden + `,` + openaiHidden + ` , 7]}`, `{"messages":[{"role":"user"} , 7]}`},
		"hidden alone":         {"ollama", ours(), `{"messages":[` + ollamaHidden + ` ]}`, `{"messages":[ ]}`},
		"hidden items":         {"responses", spoken, `{"input":[7,` + responsesHidden + `]}`, `{"input":[7]}`},
		"hidden, unknown text": {"responses", ours(), `{"input":[` + responsesHidden + `]}`, `{"input":[{"role":"assistant","content":"I look"}]}`},
		"hidden blocks":        {"anthropic", ours(), `{"messages":[7,` + anthropicHidden + `]}`, `{"messages":[7]}`},
		"the client's call":    {"openai", ours(), `{"messages":[{"tool_calls":[{"function":{"name":"a"}},{"function":{"name":"load_tools"}}]}]}`, `{"messages":[{"tool_calls":[{"function":{"name":"a"}},{"function":{"name":"load_tools"}}]}]}`},
		"appended":             {"ollama", appended, `{"messages":[{"role":"user","content":"x\u002b\n"}]}`, `{"messages":[{"role":"user","content":"x"}]}`},
		"appended part":        {"openai", appended, `{"messages":[{"role":"user","content":[ 7,{"type":"text","text":"+\n"}  ]}]}`, `{"messages":[{"role":"user","content":[ 7  ]}]}`},
		"appended alone":       {"openai", appended, `{"messages":[{"role":"user","content":[{"type":"text","text":"+\n"} ]}]}`, `{"messages":[{"role":"user","content":[ ]}]}`},
		"appended to a result": {"anthropic", appended, `{"messages":[{"role":"user","content":[{"type":"tool_result","content":"x+\n"}]}]}`, `{"messages":[{"role":"user","content":[{"type":"tool_result","content":"x"}]}]}`},
		"cut":                  {"ollama", cut, `{"messages":[{"role":"assistant","content":"b"}]}`, `{"messages":[{"role":"assistant","content":"\u0041 b"}]}`},
		"cut of a part":        {"anthropic", cut, `{"messages":[{"role":"assistant","content":[{"type":"thinking","text":"x"},{"type":"text","text":"b"}]}]}`, `{"messages":[{"role":"assistant","content":[{"type":"thinking","text":"x"},{"type":"text","text":"\u0041 b"}]}]}`},
		"cut parts":            {"anthropic", parts, `{"messages":[{"role":"assistant","content":[ {"type":"text","text":"b"}]}]}`, `{"messages":[{"role":"assistant","content":[ {"type":"text","text":"a"} , {"type":"text","text":"b"}]}]}`},
		"an input":             {"responses", text, `{"input":[{"role":"user","content":"x+"},` + responsesHidden + `]}`, `{"input":"x"}`},
		"bridge": {"ollama", ours(), `{"messages":[{"tool_calls":[{"function":{"name":"call_tool","arguments":{"name":"\u0061","arguments":{"p": 1}}}}]}]}`,
			`{"messages":[{"tool_calls":[{"function":{"name":"\u0061","arguments":{"p": 1}}}]}]}`},
		"bridge without arguments": {"anthropic", ours(), `{"messages":[{"content":[{"name":"call_tool","input":{"name":"a"},"id":7}]}]}`, `{"messages":[{"content":[{"name":"a","id":7}]}]}`},
		"bridge in a string": {"responses", ours(), `{"input":[{"name":"call_tool","arguments":"{\"name\":\"\\u0061\",\"arguments\": {\"\u0070\":\"\\\"\"}}"}]}`,
			`{"input":[{"name":"\u0061","arguments":" {\"\u0070\":\"\\\"\"}"}]}`},
		"bridge, empty": {"openai", ours(), `{"messages":[{"function_call":{"name":"call_tool","arguments":"{\"name\":\"a\"}"}}]}`, `{"messages":[{"function_call":{"name":"a","arguments":""}}]}`},
		"bridge, text": {"openai", ours(), `{"messages":[{"function_call":{"name":"call_tool","arguments":"{\"name\":\"a\",\"arguments\":\"{\\\"p\"}"}}]}`,
			`{"messages":[{"function_call":{"name":"a","arguments":"{\"p"}}]}`},
	} {
		got, err := edittest.Strip(test.protocol, []byte(test.edited), test.ours)
		if err != nil || string(got) != test.want {
			t.Errorf("%s: error %v\n got %s\nwant %s", name, err, got, test.want)
		}
	}
}

func TestStripSaysWhatIsNeitherTheClientsNorOurs(t *testing.T) {
	tools, appended, cut, parts, text := ours(), ours(), ours(), ours(), ours()
	tools.Tools = []byte(`[{"name":"a"}]`)
	appended.Appended, cut.Cut, parts.CutParts, text.TextInput = map[int]string{0: "+"}, map[int]string{0: "x"}, map[int]string{0: "{},"}, true
	for name, test := range map[string]struct {
		protocol string
		ours     edittest.Ours
		edited   string
	}{
		"no JSON":                  {"ollama", ours(), `{"messages":[`},
		"a tool that was changed":  {"ollama", tools, `{"tools":[{"name": "a"}]}`},
		"a tool twice":             {"ollama", tools, `{"tools":[{"name":"a"},{"name":"a"}]}`},
		"no answer":                {"openai", ours(), `{"messages":[` + strings.SplitAfter(openaiHidden, "]}")[0] + `]}`},
		"another answer":           {"openai", ours(), `{"messages":[` + strings.Replace(openaiHidden, `"tool_call_id":"h"`, `"tool_call_id":"i"`, 1) + `]}`},
		"no text at the end":       {"ollama", appended, `{"messages":[{"content":"+x"}]}`},
		"no part at the end":       {"openai", appended, `{"messages":[{"content":[{"text":"x"}]}]}`},
		"no parts":                 {"openai", appended, `{"messages":[{"content":[]}]}`},
		"no part to cut from":      {"openai", parts, `{"messages":[{"content":[]}]}`},
		"nothing to cut from":      {"openai", cut, `{"messages":[{"content":null}]}`},
		"a bridge without a name":  {"ollama", ours(), `{"messages":[{"tool_calls":[{"function":{"name":"call_tool","arguments":{}}}]}]}`},
		"a bridge that is no JSON": {"openai", ours(), `{"messages":[{"function_call":{"name":"call_tool","arguments":"{"}}]}`},
		"no input":                 {"responses", text, `{"input":[` + responsesHidden[strings.Index(responsesHidden, `},`)+2:] + `]}`},
	} {
		if got, err := edittest.Strip(test.protocol, []byte(test.edited), test.ours); err == nil {
			t.Errorf("%s: %s", name, got)
		}
	}
}
