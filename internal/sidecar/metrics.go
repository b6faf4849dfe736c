package sidecar

import (
	"net/http"

	"toolbelt/catalog"
)

// metrics writes the counts in Prometheus' text format. NotFound where nothing is counted.
func (a *api) metrics(w http.ResponseWriter, r *http.Request) error {
	if a.Metrics == nil {
		return catalog.NewError(catalog.NotFound, "this daemon counts nothing for metrics", nil)
	}
	a.Metrics.ServeHTTP(w, r)
	return nil
}
