package telemetry

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"toolbelt/internal/session"
	"toolbelt/internal/turn"
	"toolbelt/kvcache"
)

// Metrics counts for Prometheus, from the start of the process. No label has a value that a client, a user or a model has chosen. Safe for concurrent use.
type Metrics struct {
	registry *prometheus.Registry

	plans     *prometheus.CounterVec
	fallbacks *prometheus.CounterVec
	visible   prometheus.Histogram
	offered   prometheus.Histogram
	seconds   prometheus.Histogram
	calls     prometheus.Counter
	escapes   prometheus.Counter
	written   prometheus.Counter
	loads     *prometheus.CounterVec
	again     *prometheus.CounterVec
	answers   *prometheus.CounterVec
	tokens    *prometheus.CounterVec
	reading   prometheus.Counter
	of        func(*turn.Plan) int // tools offered
}

var (
	_ turn.Recorder = (*Metrics)(nil)
	_ turn.Meter    = (*Metrics)(nil)
)

// MetricsConfig is what Metrics are made of. All is required.
type MetricsConfig struct {
	Version, Mode string
	Offered       func(*turn.Plan) int // tools in the client's array; called within the request
	Numbers       func() Numbers       // asked whenever somebody looks
	Dropped       func() int64         // what a Recorder could not count
}

// Numbers are counts that others keep, since the start.
type Numbers struct {
	Chats, Edited, WithoutTools int64
	HiddenRounds                int64 // times that the engine was asked again within an answer
	Prewarms                    Prewarms
}

// Prewarms counts the requests that had the engine read ahead.
type Prewarms struct {
	Done, Dropped, Failed, Skipped int
	Took                           time.Duration
}

// NewMetrics returns metrics at 0.
func NewMetrics(cfg MetricsConfig) *Metrics {
	count := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Namespace: "toolbelt", Name: name, Help: help})
	}
	by := func(name, help, label string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "toolbelt", Name: name, Help: help}, []string{label})
	}
	spread := func(name, help string, buckets ...float64) prometheus.Histogram {
		return prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: "toolbelt", Name: name, Help: help, Buckets: buckets})
	}
	m := &Metrics{
		registry:  prometheus.NewRegistry(),
		of:        cfg.Offered,
		plans:     by("plans_total", "Lists of tools decided, by outcome: list, kept (the list of the turn before, unjudged) or fallback (every tool).", "outcome"),
		fallbacks: by("fallbacks_total", "Plans in which every tool is visible, by reason.", "reason"),
		visible:   spread("tools_visible", "Tools visible in a plan, fallbacks left out.", 1, 2, 4, 6, 8, 10, 12, 14, 16, 18, 24, 32, 64),
		offered:   spread("tools_offered", "Tools in the array of a request that was planned for.", 1, 5, 10, 20, 40, 80, 160, 320, 640, 1280),
		seconds:   spread("plan_seconds", "Time for one plan.", .0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .15, .25, .5, 1),
		calls:     count("tool_calls_total", "Different tools of the app's that an answer called."),
		escapes:   count("escapes_total", "Calls of tools that the plan hid. In shadow mode these are would-be misses."),
		written:   count("written_calls_total", "Calls of tools that the plan hid which the model wrote as text. They are among the escapes."),
		again:     by("hidden_turns_total", "Turns within answers that the client saw nothing of, by reason: asked (calls of our own tools were answered) or guess (hidden tools were shown since the engine had dropped a call).", "reason"),
		loads:     by("loads_total", "Calls of load_tools and tool_search, by result: found or missed.", "result"),
		answers:   by("answers_total", "Answers of the engine's, hidden turns included, of which it said what it read, by verdict: as_expected, contradicted or truncated (it read only a part of the prompt).", "verdict"),
		tokens:    by("prompt_tokens_total", "Tokens of prompts: whole, evaluated (as the engine said or as follows from its times), and expected (to be evaluated, before it was asked).", "kind"),
		reading:   count("prompt_seconds_total", "Time that the engine spent on reading prompts, as it said."),
	}
	info := prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "toolbelt", Name: "info", Help: "1.", ConstLabels: prometheus.Labels{"version": cfg.Version, "mode": cfg.Mode}})
	info.Set(1)
	m.registry.MustRegister(m.plans, m.fallbacks, m.visible, m.offered, m.seconds, m.calls, m.escapes, m.written, m.again, m.loads, m.answers, m.tokens, m.reading, info,
		collectors.NewGoCollector(), numbers{cfg})
	for _, vec := range []struct {
		of     *prometheus.CounterVec
		values []string
	}{
		{m.plans, []string{"list", "kept", "fallback"}}, {m.loads, []string{"found", "missed"}}, {m.again, []string{"asked", "guess"}},
		{m.answers, []string{"as_expected", "contradicted", "truncated"}}, {m.tokens, []string{"whole", "evaluated", "expected"}},
	} {
		for _, value := range vec.values {
			vec.of.WithLabelValues(value) // there from the start, at 0
		}
	}
	return m
}

// ServeHTTP writes the metrics in Prometheus' text format, or another one that the client asks for.
func (m *Metrics) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{}).ServeHTTP(w, r)
}

// Planned implements turn.Recorder.
func (m *Metrics) Planned(p *turn.Plan) {
	m.offered.Observe(float64(m.of(p)))
	m.seconds.Observe(max(0, p.Elapsed.Seconds()))
	switch {
	case p.Fallback != "":
		m.plans.WithLabelValues("fallback").Inc()
		m.fallbacks.WithLabelValues(reasonOf(p.Fallback)).Inc()
		return
	case p.Kept != "":
		m.plans.WithLabelValues("kept").Inc()
	default:
		m.plans.WithLabelValues("list").Inc()
	}
	m.visible.Observe(float64(len(p.Tools)))
}

// Escaped implements turn.Recorder.
func (m *Metrics) Escaped(session.State, string) { m.escapes.Inc() }

// Called implements turn.Meter.
func (m *Metrics) Called(_ session.State, called, _ []string) { m.calls.Add(float64(len(called))) }

// Loaded implements turn.Recorder.
func (m *Metrics) Loaded(_ *turn.Plan, what string) {
	if what == "" {
		m.loads.WithLabelValues("missed").Inc()
	} else {
		m.loads.WithLabelValues("found").Inc()
	}
}

// Answered implements turn.Recorder.
func (m *Metrics) Answered(_ *turn.Plan, v kvcache.Verdict) {
	switch {
	case v.Truncated:
		m.answers.WithLabelValues("truncated").Inc()
	case v.Contradicted:
		m.answers.WithLabelValues("contradicted").Inc()
	default:
		m.answers.WithLabelValues("as_expected").Inc()
	}
	m.tokens.WithLabelValues("expected").Add(float64(max(0, v.Expected.Evaluated)))
	m.tokens.WithLabelValues("evaluated").Add(float64(max(0, v.Evaluated)))
}

// Spent implements turn.Meter.
func (m *Metrics) Spent(_ *turn.Plan, s turn.Spent) {
	m.tokens.WithLabelValues("whole").Add(float64(max(0, s.Usage.PromptTokens)))
	m.reading.Add(max(0, s.Usage.PromptDuration.Seconds()))
}

// Again implements turn.Meter.
func (m *Metrics) Again(_ *turn.Plan, guess bool) {
	if guess {
		m.again.WithLabelValues("guess").Inc()
	} else {
		m.again.WithLabelValues("asked").Inc()
	}
}

// Written implements turn.Meter.
func (m *Metrics) Written(_ session.State, tools []string) { m.written.Add(float64(len(tools))) }

// numbers hands on what others count.
type numbers struct{ cfg MetricsConfig }

// Describe implements prometheus.Collector: what Collect gives is looked at once.
func (n numbers) Describe(ch chan<- *prometheus.Desc) {
	for _, v := range n.list(Numbers{}, 0) {
		ch <- v.desc
	}
}

// Collect implements prometheus.Collector.
func (n numbers) Collect(ch chan<- prometheus.Metric) {
	for _, v := range n.list(n.cfg.Numbers(), n.cfg.Dropped()) {
		ch <- prometheus.MustNewConstMetric(v.desc, prometheus.CounterValue, v.value, v.labels...)
	}
}

// number is one count.
type number struct {
	desc   *prometheus.Desc
	value  float64
	labels []string
}

func (n numbers) list(of Numbers, dropped int64) []number {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("toolbelt_"+name, help, labels, nil)
	}
	chats := desc("chats_total", "Chat requests, by kind: edited (sent with other tools than they came with), untouched, or without_tools.", "kind")
	prewarms := desc("prewarms_total", "Requests that had the engine read ahead, by result.", "result")
	p := of.Prewarms
	return []number{
		{chats, float64(of.Edited), []string{"edited"}},
		{chats, float64(max(0, of.Chats-of.Edited-of.WithoutTools)), []string{"untouched"}},
		{chats, float64(of.WithoutTools), []string{"without_tools"}},
		{desc("hidden_rounds_total", "Times that the engine was asked again within an answer."), float64(of.HiddenRounds), nil},
		{prewarms, float64(p.Done), []string{"done"}},
		{prewarms, float64(p.Dropped), []string{"dropped"}},
		{prewarms, float64(p.Failed), []string{"failed"}},
		{prewarms, float64(p.Skipped), []string{"skipped"}},
		{desc("prewarm_seconds_total", "Time that the engine spent on reading ahead."), max(0, p.Took.Seconds()), nil},
		{desc("uncounted_total", "Events that could not be counted for the report since too many came at once."), float64(dropped), nil},
	}
}
