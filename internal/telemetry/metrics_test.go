package telemetry_test

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"toolbelt/internal/chat"
	"toolbelt/internal/session"
	"toolbelt/internal/telemetry"
	"toolbelt/internal/turn"
	"toolbelt/kvcache"
)

func metricsConfig() telemetry.MetricsConfig {
	return telemetry.MetricsConfig{
		Version: "1.2.3", Mode: "on", Offered: func(*turn.Plan) int { return 38 }, Dropped: func() int64 { return 3 },
		Numbers: func() telemetry.Numbers {
			return telemetry.Numbers{Chats: 10, Edited: 6, WithoutTools: 1, HiddenRounds: 2, Prewarms: telemetry.Prewarms{Done: 4, Took: 1500 * time.Millisecond}}
		},
	}
}

// scrape returns what Prometheus would read.
func scrape(t *testing.T, m *telemetry.Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.ServeHTTP(w, httptest.NewRequest("GET", "/toolbelt/metrics", nil))
	if kind := w.Header().Get("Content-Type"); w.Code != 200 || !strings.HasPrefix(kind, "text/plain; version=0.0.4") {
		t.Fatalf("%d, %q", w.Code, kind)
	}
	return w.Body.String()
}

func TestMetrics(t *testing.T) {
	m := telemetry.NewMetrics(metricsConfig())
	list := plan("my secret session", 1)
	list.Elapsed = 300 * time.Microsecond
	m.Planned(list)
	kept := plan("s", 2)
	kept.Kept = "the embedder is late"
	m.Planned(kept)
	for _, why := range []string{"small array", "embedder: my secret text", "a reason of tomorrow"} {
		m.Planned(&turn.Plan{Fallback: why})
	}
	m.Escaped(session.State{}, "my secret tool")
	m.Called(session.State{}, []string{"my secret tool", "another"}, nil)
	m.Loaded(list, "mail")
	m.Loaded(list, "")
	for _, v := range []kvcache.Verdict{{Evaluated: 100, Expected: kvcache.Expected{Evaluated: 80}}, {Truncated: true}, {Contradicted: true}, {Evaluated: -7}} {
		m.Answered(list, v)
		m.Spent(list, turn.Spent{Usage: chat.Usage{PromptTokens: 500, PromptDuration: time.Second}, Verdict: v})
	}
	for _, guess := range []bool{true, false, false} {
		m.Again(list, guess)
	}
	m.Written(session.State{}, []string{"my secret tool"})
	text := scrape(t, m)
	for _, line := range []string{
		`toolbelt_plans_total{outcome="list"} 1`, `toolbelt_plans_total{outcome="kept"} 1`, `toolbelt_plans_total{outcome="fallback"} 3`,
		`toolbelt_fallbacks_total{reason="small array"} 1`, `toolbelt_fallbacks_total{reason="embedder failed"} 1`, `toolbelt_fallbacks_total{reason="other"} 1`,
		`toolbelt_tools_visible_bucket{le="1"} 0`, `toolbelt_tools_visible_bucket{le="2"} 2`, `toolbelt_tools_visible_count 2`,
		`toolbelt_tools_offered_sum 190`, `toolbelt_plan_seconds_bucket{le="0.00025"} 4`, `toolbelt_plan_seconds_bucket{le="0.0005"} 5`,
		`toolbelt_escapes_total 1`, `toolbelt_tool_calls_total 2`, `toolbelt_loads_total{result="found"} 1`, `toolbelt_loads_total{result="missed"} 1`,
		`toolbelt_answers_total{verdict="as_expected"} 2`, `toolbelt_answers_total{verdict="truncated"} 1`, `toolbelt_answers_total{verdict="contradicted"} 1`,
		`toolbelt_prompt_tokens_total{kind="whole"} 2000`, `toolbelt_prompt_tokens_total{kind="evaluated"} 100`, `toolbelt_prompt_tokens_total{kind="expected"} 80`,
		`toolbelt_prompt_seconds_total 4`, `toolbelt_hidden_turns_total{reason="asked"} 2`, `toolbelt_hidden_turns_total{reason="guess"} 1`, `toolbelt_written_calls_total 1`, `toolbelt_hidden_rounds_total 2`, `toolbelt_uncounted_total 3`,
		`toolbelt_chats_total{kind="edited"} 6`, `toolbelt_chats_total{kind="untouched"} 3`, `toolbelt_chats_total{kind="without_tools"} 1`,
		`toolbelt_prewarms_total{result="done"} 4`, `toolbelt_prewarm_seconds_total 1.5`, `toolbelt_info{mode="on",version="1.2.3"} 1`,
	} {
		if !strings.Contains(text, "\n"+line+"\n") {
			t.Errorf("lacks %s", line)
		}
	}
	if strings.Contains(text, "secret") {
		t.Errorf("holds what somebody said:\n%s", text)
	}
	if problems, err := promlint.New(strings.NewReader(text)).Lint(); err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
}

// TestMetricsStartAtNothing has every series with a known label there before anything happens.
func TestMetricsStartAtNothing(t *testing.T) {
	text := scrape(t, telemetry.NewMetrics(metricsConfig()))
	for _, line := range []string{`toolbelt_plans_total{outcome="list"} 0`, `toolbelt_escapes_total 0`, `toolbelt_loads_total{result="missed"} 0`, `toolbelt_hidden_turns_total{reason="guess"} 0`, `toolbelt_written_calls_total 0`, `toolbelt_answers_total{verdict="truncated"} 0`} {
		if !strings.Contains(text, "\n"+line+"\n") {
			t.Errorf("lacks %s", line)
		}
	}
}
