package proxy_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"toolbelt/internal/proxy"
	"toolbelt/internal/turn"
)

// quickPlanner shows the first two tools and forgets.
type quickPlanner struct{}

func (quickPlanner) Plan(_ context.Context, r turn.Request) (*turn.Plan, error) {
	return firstTwo(r), nil
}
func (quickPlanner) Commit(*turn.Plan)                {}
func (quickPlanner) Observe(*turn.Plan, turn.Outcome) {}
func (quickPlanner) Again(context.Context, *turn.Plan, turn.Round) (*turn.Plan, error) {
	return nil, nil
}

// bigBody is a chat with 38 tools of about 1 KB each, as an app with a few MCP servers sends it.
func bigBody() string {
	var all []string
	for i := range 38 {
		var fields []string
		for f := range 8 {
			fields = append(fields, fmt.Sprintf(`"field_%d":{"type":["string","null"],"description":"%s"}`, f, strings.Repeat("what it means ", 5)))
		}
		all = append(all, fmt.Sprintf(`{"type":"function","function":{"name":"tool_%d","description":"%s","parameters":{"type":"object","properties":{%s}}}}`,
			i, strings.Repeat("what it does ", 15), strings.Join(fields, ",")))
	}
	return chatBody("[" + strings.Join(all, ",") + "]")
}

// overheads runs the same exchange straight and through the daemon.
func overheads(b *testing.B, answer http.HandlerFunc, run func(b *testing.B, base string)) {
	fake := httptest.NewServer(answer)
	defer fake.Close()
	upstream, err := proxy.ParseUpstream(fake.URL)
	if err != nil {
		b.Fatal(err)
	}
	handler, err := proxy.New(proxy.Config{Upstream: upstream}, quickPlanner{}, http.NotFoundHandler(), slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	defer handler.Close()
	daemon := httptest.NewServer(handler)
	defer daemon.Close()
	b.Run("straight", func(b *testing.B) { run(b, fake.URL) })
	b.Run("through", func(b *testing.B) { run(b, daemon.URL) })
}

func quantile(all []time.Duration, q float64) float64 {
	slices.Sort(all)
	return float64(all[int(q*float64(len(all)-1))].Nanoseconds()) / 1e3
}

// BenchmarkFirstByte is the time from sending a chat with 38 tools to the first byte of the streamed answer. The overhead is the difference of the two.
func BenchmarkFirstByte(b *testing.B) {
	body := bigBody()
	overheads(b, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/x-ndjson")
		io.WriteString(w, ollamaDone+"\n")
	}, func(b *testing.B, base string) {
		client := &http.Client{Transport: &http.Transport{}}
		defer client.CloseIdleConnections()
		var all []time.Duration
		first := make([]byte, 1)
		for b.Loop() {
			started := time.Now()
			res, err := client.Post(base+"/api/chat", "application/json", strings.NewReader(body))
			if err != nil {
				b.Fatal(err)
			}
			if _, err := res.Body.Read(first); err != nil && err != io.EOF {
				b.Fatal(err)
			}
			all = append(all, time.Since(started))
			io.Copy(io.Discard, res.Body)
			res.Body.Close()
		}
		b.ReportMetric(quantile(all, .5), "µs-p50")
		b.ReportMetric(quantile(all, .95), "µs-p95")
		b.ReportMetric(float64(len(body)), "body-bytes")
	})
}

// BenchmarkChunk is the time that a chunk takes from the engine to the client and back: the engine writes the next only
// when the client has the last. The overhead is the difference of the two.
func BenchmarkChunk(b *testing.B) {
	const chunk = `{"model":"m","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":" word"},"done":false}` + "\n"
	next := make(chan struct{})
	overheads(b, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/x-ndjson")
		rc := http.NewResponseController(w)
		rc.Flush()
		for {
			select {
			case <-next:
				io.WriteString(w, chunk)
				rc.Flush()
			case <-r.Context().Done():
				return
			}
		}
	}, func(b *testing.B, base string) {
		conn, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
		if err != nil {
			b.Fatal(err)
		}
		defer conn.Close()
		body := chatBody(toolsJSON(38))
		fmt.Fprintf(conn, "POST /api/chat HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			b.Fatal(err)
		}
		lines := bufio.NewReader(res.Body)
		var all []time.Duration
		for b.Loop() {
			started := time.Now()
			next <- struct{}{}
			if _, err := lines.ReadSlice('\n'); err != nil {
				b.Fatal(err)
			}
			all = append(all, time.Since(started))
		}
		b.ReportMetric(quantile(all, .5), "µs-p50")
		b.ReportMetric(quantile(all, .95), "µs-p95")
	})
}
