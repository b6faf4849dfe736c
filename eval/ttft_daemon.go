package eval

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"toolbelt/bundles"
)

// DaemonSettings say how a daemon is started to be measured.
type DaemonSettings struct {
	Upstream *url.URL
	Core     []string
	Bundles  []bundles.Bundle
	Strategy string // a setting of the daemon's
	Prewarm  bool
	Embedder string
	Folder   string // for its database; it outlives the daemon
}

// Daemon is one that runs.
type Daemon struct {
	URL  *url.URL
	Stop func()        // ends it and returns when it has ended
	Log  func() string // what it has logged until now, its end at least
}

// StartDaemon starts a daemon of its own process and returns when it is ready. It ends with ctx at the latest.
type StartDaemon func(ctx context.Context, s DaemonSettings) (*Daemon, error)

// warmed is the daemon's count of its own requests that warm the engine.
type warmed struct {
	On      *bool `json:"on"`
	Sent    int   `json:"sent"`
	Done    int   `json:"done"`
	Dropped int   `json:"dropped"`
}

// prewarmCounts asks the daemon; nil where it does not count them.
func prewarmCounts(ctx context.Context, client *http.Client, daemon *url.URL) (*warmed, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, daemon.JoinPath("/toolbelt/readyz").String(), nil)
	if err != nil {
		return nil, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var status struct {
		Prewarm *warmed `json:"prewarm"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&status); err != nil {
		return nil, fmt.Errorf("reading how the daemon does: %v", err)
	}
	return status.Prewarm, nil
}

// awaitPrewarmed returns when the daemon has warmed the engine once and has nothing under way, and otherwise says why it did not.
func awaitPrewarmed(ctx context.Context, client *http.Client, daemon *url.URL, most time.Duration) (why string, err error) {
	until := time.Now().Add(most)
	for {
		counts, err := prewarmCounts(ctx, client, daemon)
		switch {
		case err != nil:
			return "", err
		case counts == nil:
			return "the daemon does not say whether it has warmed the engine", nil
		case counts.On != nil && !*counts.On:
			return "the daemon says that it does not warm the engine", nil
		case counts.Done > 0 && counts.Done+counts.Dropped >= counts.Sent:
			return "", nil
		case time.Now().After(until):
			return fmt.Sprintf("the daemon did not warm the engine within %v (sent %d, done %d, dropped %d)", most, counts.Sent, counts.Done, counts.Dropped), nil
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// foretoldWait is for the daemon's line on an answer that has just ended.
const foretoldWait = 300 * time.Millisecond

var prefixLine = regexp.MustCompile(`TOOL_LOADER_PREFIX (\{.*\})\s*$`)

// lastPrefixLine is the daemon's newest line on what an answer said of its prompt, time stamp included; "" where there is none.
func (d *Daemon) lastPrefixLine() string {
	last := ""
	for line := range strings.Lines(d.Log()) {
		if prefixLine.MatchString(line) {
			last = line
		}
	}
	return last
}

// foretold is what the daemon had expected to be evaluated, in tokens, by the line that follows the one before; nil where it does not say in time.
func (d *Daemon) foretold(ctx context.Context, before string) *int {
	for waited := time.Duration(0); waited < foretoldWait; waited += foretoldWait / 20 {
		if line := d.lastPrefixLine(); line != before {
			var answer struct {
				Expected *int `json:"evaluated_expected"`
			}
			if json.Unmarshal([]byte(prefixLine.FindStringSubmatch(line)[1]), &answer) != nil {
				return nil
			}
			return answer.Expected
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(foretoldWait / 20):
		}
	}
	return nil
}
