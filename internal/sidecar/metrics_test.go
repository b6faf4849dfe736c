package sidecar_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"toolbelt/internal/sidecar"
)

func TestMetricsAreServed(t *testing.T) {
	r := start(t, func(p *sidecar.Parts) {
		p.Metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain; version=0.0.4")
			io.WriteString(w, "toolbelt_info 1\n")
		})
	})
	w := httptest.NewRecorder()
	r.handler.ServeHTTP(w, httptest.NewRequest("GET", "/toolbelt/metrics", nil))
	if w.Code != 200 || w.Body.String() != "toolbelt_info 1\n" || w.Header().Get("Content-Type") != "text/plain; version=0.0.4" {
		t.Errorf("%d %q %v", w.Code, w.Body, w.Header())
	}
	r.fails("POST", "/toolbelt/metrics", "{}", http.StatusMethodNotAllowed, "use GET, HEAD")
}

func TestNoMetrics(t *testing.T) {
	start(t, nil).fails("GET", "/toolbelt/metrics", "", http.StatusNotFound, "counts nothing for metrics")
}
