package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// quoted is s as JSON.
func quoted(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // strings always marshal
	}
	return string(text)
}

// tool is a tool as a client may write it: with spaces, escapes and a schema that is not plain.
func tool(name, description string) string {
	return fmt.Sprintf(`{ "type":"function","function":{"name":%s, "description":%s,"parameters":{"type":["object","null"],`+
		`"properties":{"x\u00e9":{"type":"number","minimum":1.0e2},"more":true},"$defs":{},"x-own":null}}}`, quoted(name), quoted(description))
}

// ordinary are 22 tools about different things.
func ordinary() []string {
	var all []string
	for _, t := range []string{
		"get_weather Weather forecast for a city", "send_mail Send an e-mail to somebody", "delete_file Delete a file from the disk", "play_music Play a song or an album",
		"create_event Put an appointment into the calendar", "list_events List the appointments of a day", "search_web Search the internet for pages",
		"translate Translate a text into another language", "set_alarm Set an alarm clock", "book_flight Book a flight between two airports", "order_pizza Order a pizza for delivery",
		"convert_currency Convert an amount of money between currencies", "resize_image Change the size of a picture", "run_query Run an SQL query on a database",
		"read_sensor Read a temperature sensor of the house", "lock_door Lock or unlock a door of the house", "water_plants Water the plants in the garden",
		"find_recipe Find a recipe for cooking", "track_parcel Say where a parcel is", "make_invoice Write an invoice for a customer", "rename_branch Rename a branch of a git repository", "start_timer Start a kitchen timer",
	} {
		name, description, _ := strings.Cut(t, " ")
		all = append(all, tool(name, description+"."))
	}
	return all
}

// bodyOf is a chat with these messages and tools, as JSON each; fields are further members.
func bodyOf(messages, tools string, fields ...string) []byte {
	return []byte(`{"model":"m", "seed":1.50,"messages":` + messages + `,"tools":` + tools + `,"stream":true ,"own":{"a":[1e2,null]}` + strings.Join(fields, "") + "}\n")
}

func user(text string) string {
	return `[{"role":"user","content":` + quoted(text+" "+said) + `}]`
}

// vary makes a body another conversation for each path: the same once more would be a retry, which has no plan of its own.
func vary(body []byte, path string) []byte {
	return []byte(strings.NewReplacer(said, said+" by "+path, `"own":`, `"path":`+quoted(path)+`,"own":`).Replace(string(body)))
}

func array(tools []string) string { return "[ " + strings.Join(tools, " ,\n") + " ]" }

const askWeather = "What is the weather forecast for the city of Lisbon?"

func TestBadInputBodies(t *testing.T) {
	b := newBench(t)
	plain := bodyOf(user(askWeather), array(ordinary()))
	each := func(name string, body []byte, why string, status int, header map[string]string) {
		t.Run(name, func(t *testing.T) {
			for _, path := range chatPaths() {
				for _, chunked := range []bool{false, true} {
					p := b.both(t, ask{path: path, body: body, header: header, chunked: chunked})
					p.unedited(t, why)
					if p.reply.status != status || p.reply.broken {
						t.Errorf("%s: %+v", path, p.reply)
					}
				}
			}
		})
	}
	each("body not JSON: cut off", plain[:len(plain)/2], "it is not JSON", 400, nil)
	each("body not JSON: words", []byte(said), "it is not JSON", 400, nil)
	each("body not JSON: nothing", nil, "it is not JSON", 400, nil)
	each("body not JSON: bytes", []byte("\x00\xff\xfe"+said), "it is not JSON", 400, nil)
	each("body not an object", []byte(`["`+said+`"]`), "not a JSON object", 400, nil)
	each("tools twice", bodyOf(user("x"), array(ordinary()), `,"tools":[]`), "more than one", 200, nil)
	for what, tools := range map[string]string{"an object": ordinary()[0], "a string": quoted(said), "a number": "3", "true": "true"} {
		each("tools not an array: "+what, bodyOf(user(askWeather), tools), "is not an array", 400, nil)
	}
	each("no tool has a name", bodyOf(user(askWeather), `[{"type":"function","function":{"description":"d"}},{"type":"web_search"},7]`), "a function with a name", 200, nil)

	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write(plain)
	z.Close()
	each("compressed body", packed.Bytes(), "compressed", 400, map[string]string{"Content-Encoding": "gzip"})

	const limit = 64 << 10
	b = newLimitedBench(t, limit)
	each("body over the edit limit", bodyOf(user(askWeather+strings.Repeat(" "+said, limit/len(said))), array(ordinary())), "over the edit limit of 65536", 200, nil)
	t.Run("body within the edit limit", func(t *testing.T) {
		b.both(t, ask{path: "/api/chat", body: plain}).edited(t, "get_weather")
	})
}

func TestBadInputTools(t *testing.T) {
	b := newBench(t)
	const fits = "Reports the phase of the moon and the tides."
	const askMoon = "Which phase of the moon is it, and when are the tides?"
	long := strings.Repeat("long_name_", 20)
	for _, c := range []struct {
		name    string
		tools   []string // beside the ordinary ones
		message string
		visible []string
	}{
		{"a tool without a name", []string{`{"type":"function","function":{"description":"nameless"}}`, `{"type":"function","function":{"name":""}}`, `null`, tool("moon", fits)}, askMoon, []string{"moon", ""}},
		{"duplicate names", []string{tool("moon", fits), tool("moon", "Another one of that name."), tool("moon", fits)}, askMoon, []string{"moon"}},
		{"a name with .", []string{tool("sky.moon.v1", fits)}, askMoon, []string{"sky.moon.v1"}},
		{"a name with /", []string{tool("sky/moon//1", fits)}, askMoon, []string{"sky/moon//1"}},
		{"a name of CJK", []string{tool("月相と潮汐查询", fits)}, askMoon, []string{"月相と潮汐查询"}},
		{"a name of CJK, asked for in its own words", []string{tool("weather_jp", "天気予報を調べる")}, "天気予報を調べる", []string{"weather_jp"}},
		{"a name of 200 characters", []string{tool(long, fits)}, askMoon, []string{long}},
		{"a name of quotes, newlines and zero bytes", []string{tool("mo\"on\n\\", fits), tool("\x00moon", fits)}, askMoon, []string{"mo\"on\n\\"}},
		{"half a surrogate in a name", []string{strings.Replace(tool("moon", fits), `"moon"`, `"moon\ud800"`, 1)}, askMoon, nil},
		{"empty description", []string{tool("moon_phase", ""), strings.Replace(tool("tides", "x"), `"description":"x",`, "", 1), strings.Replace(tool("stars", "x"), `"x"`, "null", 1)}, "the moon phase please: moon_phase", []string{"moon_phase"}},
		{"a description of 5 KB", []string{tool("moon", fits+strings.Repeat(" It needs a place and a date and says all that is known.", 92))}, askMoon, []string{"moon"}},
		{"a user message of 20,000 tokens", []string{tool("moon", fits)}, strings.Repeat("and this went on and on for a while. ", 2500) + askMoon, []string{"moon"}},
		{"500 tools at once", many(500, 0), askWeather, []string{"get_weather"}},
		{"150 KB of tools", many(100, 1500), askWeather, []string{"get_weather"}},
		{"5,000 tools of one name", slices.Repeat([]string{`{"function":{"name":"same"}}`}, 5000), askWeather, []string{"get_weather"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			tools := append(ordinary(), c.tools...)
			slices.Reverse(tools) // what is asked for does not stand at the end
			for _, path := range chatPaths() {
				p := b.both(t, ask{path: path, body: vary(bodyOf(user(c.message), array(tools)), path)})
				names := p.edited(t, c.visible...)
				if distinct := slices.Compact(slices.Sorted(slices.Values(names))); len(distinct) > 14+1 {
					t.Errorf("%d tools are visible", len(distinct))
				}
				if p.reply.status != 200 {
					t.Errorf("%s: status %d", path, p.reply.status)
				}
			}
		})
	}
}

// many are tools with filler of so many bytes in each schema.
func many(n, filler int) []string {
	var all []string
	for i := range n {
		t := tool(fmt.Sprintf("gadget_%d", i), fmt.Sprintf("Operates gadget number %d of the workshop.", i))
		all = append(all, strings.Replace(t, `"x-own":null`, `"x-own":"`+strings.Repeat("f", filler)+`"`, 1))
	}
	return all
}

// TestBadInputChoices asks with every tool_choice on every path; a request that may call nothing is nobody's to cut.
func TestBadInputChoices(t *testing.T) {
	b := newBench(t)
	for _, path := range chatPaths() {
		for _, c := range []struct{ name, field, visible string }{
			{"omitted", "", "get_weather"},
			{"auto", `,"tool_choice":"auto"`, "get_weather"},
			{"required", `,"tool_choice":"required"`, "get_weather"},
			{"named", `,"tool_choice":{"type":"function","function":{"name":"rename_branch"}}`, "rename_branch"},
			{"none", `,"tool_choice":"none"`, ""},
			{"of no known kind", `,"tool_choice":{"who":7}`, "get_weather"},
		} {
			t.Run(path+"/"+c.name, func(t *testing.T) {
				p := b.both(t, ask{path: path, body: vary(bodyOf(user(askWeather+c.name), array(ordinary()), c.field), path)})
				if c.visible != "" {
					p.edited(t, c.visible)
				} else if !bytes.Equal(p.got, p.whole) || len(p.plans) != 1 || !strings.Contains(p.plans[0], `"fallback": "tool_choice none"`) || len(p.others) != 0 {
					t.Errorf("forwarded %.200q, logged %q %q", p.got, p.plans, p.others)
				}
			})
		}
	}
}

func TestBadInputMessages(t *testing.T) {
	b := newBench(t)
	const picture = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ"
	text := quoted(askWeather + said)
	calls := func(first, arguments string) string {
		return `[{"role":"user","content":` + quoted(first+said) + `},{"role":"assistant","content":null,"tool_calls":[` +
			`{"id":"c1","type":"function","function":{"name":"gone_tool","arguments":` + arguments + `}},{"id":"c2","type":"function","function":{"name":"rename_branch","arguments":` + arguments + `}}]},` +
			`{"role":"tool","tool_call_id":"c1","tool_name":"gone_tool","content":"` + argued + `"},{"role":"assistant","content":"done"},{"role":"user","content":` + text + `}]`
	}
	for _, c := range []struct {
		name, messages string
		visible        []string
	}{
		{"content as parts with images", `[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,` + picture + `"}},{"type":"text","text":` + text + `}]}]`, []string{"get_weather"}},
		{"images in the message", `[{"role":"user","content":` + text + `,"images":["` + picture + `AA=="]}]`, []string{"get_weather"}},
		{"only an image", `[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,` + picture + `"}}]}]`, nil},
		{"calls of tools no longer sent, arguments as an object", calls("do it ", `{"to":"`+argued+`"}`), []string{"get_weather", "rename_branch"}},
		{"calls of tools no longer sent, arguments as a string", calls("do that ", quoted(`{"to":"`+argued+`"}`)), []string{"get_weather", "rename_branch"}},
		{"no messages", `[]`, nil},
		{"no message of a user", `[{"role":"system","content":"You help."}]`, nil},
		{"content null", `[{"role":"user","content":null}]`, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, path := range chatPaths() {
				p := b.both(t, ask{path: path, body: vary(bodyOf(c.messages, array(ordinary())), path)})
				if names := p.edited(t, c.visible...); slices.Contains(names, "gone_tool") {
					t.Error("a tool was made up")
				}
				if p.reply.status != 200 {
					t.Errorf("%s: status %d, %s", path, p.reply.status, p.reply.body)
				}
			}
		})
	}
}

func TestBadInputUpstreamIsTheDaemonItself(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	for _, host := range []string{"127.0.0.1", "localhost", "http://127.0.0.1", "0.0.0.0"} {
		for _, listen := range []string{"127.0.0.1", "localhost"} {
			var stdout, stderr bytes.Buffer
			dir := t.TempDir()
			err := Run(t.Context(), []string{"serve"}, Process{Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr, Dir: dir, Environ: []string{
				"HOME=" + dir, "TOOLBELT_EMBEDDER=builtin", "TOOLBELT_DB=" + filepath.Join(dir, "tools.db"),
				fmt.Sprintf("TOOLBELT_LISTEN=%s:%d", listen, port), fmt.Sprintf("OLLAMA_HOST=%s:%d", host, port),
			}})
			if got := stderr.String(); ExitStatus(err) != 2 || stdout.Len() > 0 || strings.Count(got, "\n") != 1 || !strings.Contains(got, "own address") ||
				!strings.Contains(got, "OLLAMA_HOST") || !strings.Contains(got, "set TOOLBELT_UPSTREAM") {
				t.Errorf("OLLAMA_HOST %s, listening on %s: status %d, %q", host, listen, ExitStatus(err), got)
			}
		}
	}
}

// TestBadInputManyToolsInNoTime: a large array is made ready within the request that brings it, however small the budget of the plan.
func TestBadInputManyToolsInNoTime(t *testing.T) {
	b := newBench(t, "TOOLBELT_EMBED_DEADLINE=1ms", "TOOLBELT_BUDGET=1ms")
	tools := append(many(3000, 0), ordinary()...)
	b.both(t, ask{path: "/api/chat", body: bodyOf(user(askWeather), array(tools))}).edited(t, "get_weather")
}
