package sidecar

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// The document describes exactly the routes that are served, and every reference in it leads somewhere.
func TestOpenAPIDescribesTheRoutes(t *testing.T) {
	var doc struct {
		OpenAPI    string
		Paths      map[string]map[string]json.RawMessage
		Components map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(openAPIDocument, &doc); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(doc.OpenAPI, "3.1.") {
		t.Errorf("version %q", doc.OpenAPI)
	}
	var described, served []string
	ids := map[string]bool{}
	for path, item := range doc.Paths {
		for method, raw := range item {
			if method == "parameters" {
				continue
			}
			described = append(described, strings.ToUpper(method)+" "+path)
			var operation struct {
				OperationID string `json:"operationId"`
				Summary     string
				Responses   map[string]json.RawMessage
			}
			if err := json.Unmarshal(raw, &operation); err != nil || operation.Summary == "" || len(operation.Responses) == 0 {
				t.Errorf("%s %s: %v, %+v", method, path, err, operation)
			}
			if ids[operation.OperationID] || operation.OperationID == "" {
				t.Errorf("%s %s: operationId %q", method, path, operation.OperationID)
			}
			ids[operation.OperationID] = true
		}
	}
	for _, r := range (&api{}).routes() {
		served = append(served, r.method+" "+r.path)
	}
	slices.Sort(described)
	slices.Sort(served)
	if len(served) == 0 || !slices.Equal(described, served) {
		t.Errorf("described\n%s\nserved\n%s", strings.Join(described, "\n"), strings.Join(served, "\n"))
	}
	for _, piece := range strings.Split(string(openAPIDocument), `"$ref": "`)[1:] {
		target, _, _ := strings.Cut(piece, `"`)
		parts := strings.Split(target, "/")
		if len(parts) != 4 || doc.Components[parts[2]][parts[3]] == nil {
			t.Errorf("%s leads nowhere", target)
		}
	}
}
