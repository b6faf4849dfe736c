package clients_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"toolbelt/internal/enginetest"
)

// scene is a conversation through the daemon with a model that uses our tools in one way.
type scene struct {
	name    string
	environ []string
	engine  enginetest.Options
	users   []string // question alone where nil
	rounds  []enginetest.Round
	want    []step // texts and calls that the client sees
	fails   bool   // the client gets an error instead of the last answer
	check   func(t *testing.T, heard []*enginetest.Request)
}

func says(text string, calls ...enginetest.Call) step {
	s := step{Text: text}
	for _, c := range calls {
		s.Calls = append(s.Calls, call{c.Name, c.Arguments})
	}
	return s
}

func round(text string, calls ...enginetest.Call) enginetest.Round {
	return enginetest.Round{Text: text, Calls: calls}
}

func load(name string) enginetest.Call {
	return enginetest.Call{Name: "load_tools", Arguments: fmt.Sprintf(`{"name":%q}`, name)}
}

func has(tools ...string) func(t *testing.T, r *enginetest.Request) {
	return func(t *testing.T, r *enginetest.Request) {
		t.Helper()
		for _, tool := range tools {
			if !slices.Contains(r.Tools, tool) {
				t.Errorf("the engine got the tools %q: want %s among them", r.Tools, tool)
			}
		}
	}
}

// result returns the last message that the engine got, which must be a tool's result with all of these texts.
func result(t *testing.T, r *enginetest.Request, texts ...string) {
	t.Helper()
	last := r.Last()
	if last.Role != "tool" {
		t.Fatalf("the engine was asked with %+v last, want our answer", last)
	}
	for _, text := range texts {
		if !strings.Contains(last.Content, text) {
			t.Errorf("our answer is %q: want %q in it", last.Content, text)
		}
	}
}

func scenes() []scene {
	bridged := enginetest.Call{Name: "call_tool", Arguments: `{"name":"track_parcel","arguments":{"number":"PT-77"}}`}
	return []scene{
		{
			name: "a near spelling, after a miss", rounds: []enginetest.Round{round("", load("blockchain")), round("", load("Track-Parcel")), round(outcome)}, want: []step{says(outcome)},
			check: func(t *testing.T, heard []*enginetest.Request) {
				result(t, heard[1], `no group "blockchain"`, "track_parcel")
				result(t, heard[2], "You can call these tools now: track_parcel.")
				has("track_parcel")(t, heard[2])
			},
		},
		{
			name: "four times in a row", rounds: []enginetest.Round{round("", load("track_parcel")), round("", load("send_email")), round("", load("play_music")), round("", load("lock_door")), round(outcome)},
			want: []step{says(outcome)},
			check: func(t *testing.T, heard []*enginetest.Request) {
				has("track_parcel", "send_email", "play_music")(t, heard[3])
				has("track_parcel", "send_email", "play_music", "lock_door", "read_pdf", "log_workout")(t, heard[4]) // in the end everything is shown
			},
		},
		{
			name: "without end", rounds: append(slices.Repeat([]enginetest.Round{round(moment, load("track_parcel"))}, 5), round(outcome)), want: []step{says(strings.Repeat(moment, 5) + outcome)},
			check: func(t *testing.T, heard []*enginetest.Request) {
				if len(heard[5].Messages) != 1 || len(heard[5].Tools) != len(catalog()) {
					t.Errorf("the engine got the tools %q and %+v: want the client's own request", heard[5].Tools, heard[5].Messages)
				}
			},
		},
		{
			name: "beside a real call", rounds: []enginetest.Round{round("", load("track_parcel"), weatherCall), round(outcome)}, want: []step{says("", weatherCall), says(outcome)},
			check: func(t *testing.T, heard []*enginetest.Request) { has("track_parcel")(t, heard[1]) },
		},
		{
			name: "behind a real call", rounds: []enginetest.Round{round("", weatherCall, load("track_parcel")), round("", parcelCall), round(outcome)},
			want: []step{says("", weatherCall), says("", parcelCall), says(outcome)},
		},
		{
			name: "arguments that name nothing", rounds: []enginetest.Round{round("", enginetest.Call{Name: "load_tools"}), round(outcome)}, want: []step{says(outcome)},
			check: func(t *testing.T, heard []*enginetest.Request) { result(t, heard[1], "No name could be read") },
		},
		{
			name: "a call that the engine drops", engine: enginetest.Options{DropUnlisted: true}, rounds: []enginetest.Round{round("", parcelCall), round(outcome)}, want: []step{says(outcome)},
			check: func(t *testing.T, heard []*enginetest.Request) {
				if len(heard[1].Tools) <= len(heard[0].Tools) || len(heard[1].Tools) > len(heard[0].Tools)+6 {
					t.Errorf("the engine got the tools %q, then %q: want one to six more", heard[0].Tools, heard[1].Tools)
				}
			},
		},
		{
			name: "a hidden tool that is called anyway", rounds: []enginetest.Round{round("", parcelCall), round(outcome)}, want: []step{says("", parcelCall), says(outcome)},
			check: func(t *testing.T, heard []*enginetest.Request) { has("track_parcel")(t, heard[1]) },
		},
		{
			name: "the engine fails when it is asked again", rounds: []enginetest.Round{round(moment, load("track_parcel")), {Status: http.StatusInternalServerError, Error: "out of memory"}}, fails: true,
		},
		{
			name: "the engine breaks off when it is asked again", rounds: []enginetest.Round{round(moment, load("track_parcel")), {Text: outcome, CutAfter: 60}}, fails: true,
		},
		{
			name: "tool_search", environ: []string{"TOOLBELT_TOOL_SEARCH=10"},
			rounds: []enginetest.Round{round("", enginetest.Call{Name: "tool_search", Arguments: `{"query":"where is my parcel"}`}), round("", parcelCall), round(outcome)}, want: []step{says("", parcelCall), says(outcome)},
			check: func(t *testing.T, heard []*enginetest.Request) {
				has("tool_search")(t, heard[0])
				result(t, heard[1], "track_parcel: Find out where a parcel is", "You can call these tools now: track_parcel.")
				has("track_parcel")(t, heard[1])
			},
		},
		{
			name: "switched off", environ: []string{"TOOLBELT_LOAD_TOOLS=off"}, rounds: []enginetest.Round{round(outcome)}, want: []step{says(outcome)},
			check: func(t *testing.T, heard []*enginetest.Request) {
				if slices.Contains(heard[0].Tools, "load_tools") {
					t.Errorf("the engine got the tools %q", heard[0].Tools)
				}
			},
		},
		{
			name: "late", environ: []string{"TOOLBELT_STRATEGY=late"}, users: []string{question, "Thank you!"},
			rounds: []enginetest.Round{round("", load("track_parcel")), round("", bridged), round(outcome), round(welcome)}, want: []step{says("", parcelCall), says(outcome), says(welcome)},
			check: func(t *testing.T, heard []*enginetest.Request) {
				result(t, heard[1], "\ntrack_parcel(number", "call_tool")
				for i, r := range heard {
					if !slices.Equal(r.Tools, heard[0].Tools) || slices.Contains(r.Tools, "track_parcel") {
						t.Errorf("request %d has the tools %q: want the array of the first, %q", i+1, r.Tools, heard[0].Tools)
					}
				}
				if c := heard[3].Count; c.Evaluated > c.Prompt/5 {
					t.Errorf("the last request evaluated %d of %d tokens: the prefix is not whole\n%s\nbefore it\n%s", c.Evaluated, c.Prompt, heard[3].Prompt, heard[2].Prompt)
				}
			},
		},
	}
}

// The ways in which a model uses our tools, in all protocols, stream and plain, with the engine's answers whole and in single bytes.
func TestScenes(t *testing.T) {
	for _, sc := range scenes() {
		t.Run(sc.name, func(t *testing.T) {
			environ := append([]string{"TOOLBELT_LEARN=off", "TOOLBELT_PREWARM=off"}, sc.environ...)
			for _, split := range []int{0, 1} {
				options := sc.engine
				options.Split = split
				stage := newStage(t, options)
				daemon := startDaemon(t, stage.engine.URL(), environ...)
				for _, c := range talkers() {
					if !strings.HasPrefix(c.name, "go ") {
						continue
					}
					for _, stream := range []bool{true, false} {
						t.Run(fmt.Sprintf("%s stream %v split %d", c.name, stream, split), func(t *testing.T) { sc.play(t, c, stage, daemon, stream) })
					}
				}
			}
		})
	}
}

func (sc scene) play(t *testing.T, c talker, stage *stage, daemon string, stream bool) {
	users := sc.users
	if users == nil {
		users = []string{question}
	}
	stage.set(sc.rounds)
	seen, err := c.talk(t, talk{
		Base: daemon, Model: "m", Stream: stream, Users: users, Tools: catalog(),
		Results: map[string]string{"get_weather": "rain, 14 degrees", "track_parcel": "in Porto"},
	})
	heard := stage.heard()
	if sc.fails {
		if err == nil {
			t.Errorf("the client got no error and saw %+v", seen)
		}
		return
	}
	if err != nil {
		t.Fatalf("%v; the engine was asked %d times", err, len(heard))
	}
	if len(heard) != len(sc.rounds) {
		t.Fatalf("the engine was asked %d times, want %d; the client saw %+v", len(heard), len(sc.rounds), seen)
	}
	lost := c.protocol == enginetest.Responses && !stream // here Ollama leaves out text beside calls
	same := slices.EqualFunc(seen.Steps, sc.want, func(got, want step) bool {
		return (got.Text == want.Text || lost && got.Text == strings.ReplaceAll(want.Text, moment, "")) && slices.EqualFunc(got.Calls, want.Calls, sameCall)
	})
	if !same {
		text, _ := json.Marshal(sc.want)
		t.Fatalf("the client saw\n%+v\nwant\n%s", seen.Steps, text)
	}
	if sc.check != nil {
		sc.check(t, heard)
	}
}

// A client that leaves while the engine is asked again frees the engine.
func TestClientLeavesInAHiddenTurn(t *testing.T) {
	for _, c := range []struct {
		path enginetest.Protocol
		body string
	}{
		{enginetest.NativeChat, `{"model":"m","messages":[{"role":"user","content":%q}],"tools":%s}`},
		{enginetest.OpenAIChat, `{"model":"m","stream":true,"messages":[{"role":"user","content":%q}],"tools":%s}`},
	} {
		t.Run(string(c.path), func(t *testing.T) {
			again := make(chan *enginetest.Request, 1)
			engine := enginetest.Start(t, enginetest.Options{Script: func(r *enginetest.Request) enginetest.Round {
				if r.Last().Role != "tool" {
					return round(moment, load("track_parcel"))
				}
				again <- r
				return enginetest.Round{Text: outcome, Stall: make(chan struct{}), StallAt: 1}
			}})
			daemon := startDaemon(t, engine.URL(), "TOOLBELT_PREWARM=off")
			tools, err := json.Marshal(catalog())
			if err != nil {
				t.Fatal(err)
			}
			res, err := http.Post(daemon+string(c.path), "application/json", strings.NewReader(fmt.Sprintf(c.body, question, tools)))
			if err != nil {
				t.Fatal(err)
			}
			r := <-again
			res.Body.Close()
			<-r.Done()
		})
	}
}
