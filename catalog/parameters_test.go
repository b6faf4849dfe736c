package catalog_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"toolbelt/catalog"
)

func TestParameters(t *testing.T) {
	var wide strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&wide, `"p%d":{},`, i)
	}
	if got := len(catalog.Tool{Schema: catalog.Schema(`{"properties":{` + wide.String() + `"last":{}}}`)}.Parameters()); got != 256 {
		t.Errorf("%d parameters of a wide schema", got)
	}
	for schema, want := range map[string][]catalog.Parameter{
		"": nil, "null": nil, "true": nil, "{": nil, "7": nil, "[]": nil, "[7]": nil, `{"properties":[]}`: nil, `{"properties":"x"}`: nil, `{"properties":{"a":true}}`: nil,
		`{"properties":{"b":{"type":"string","description":"what"},"a":{}},"required":["a"]}`:                        {{Name: "b", Description: "what"}, {Name: "a", Required: true}},
		`{"required":["a","a",7],"properties":{"a":{"description":7}}}`:                                              {{Name: "a", Required: true}},
		`{"required":"a","properties":{"a":{}}}`:                                                                     {{Name: "a"}},
		`{"properties":{"a":{"type":"boolean"},"b":{"enum":["x"]},"c":{"const":1},"d":{"type":["boolean","null"]}}}`: {{Name: "a", Closed: true}, {Name: "b", Closed: true}, {Name: "c", Closed: true}, {Name: "d"}},
		`{"properties":{"o":{"type":"object","properties":{"inner":{}}}}}`:                                           {{Name: "o"}},
		`[[{"properties":{"a":{}}},{"properties":{"b":{}}}],{"properties":{"c":{}}}]`:                                {{Name: "a"}, {Name: "b"}, {Name: "c"}},
		`[{"properties":{"a":{}},"required":["a"]},{"properties":{"b":{}}}]`:                                         {{Name: "a", Required: true}, {Name: "b"}},
	} {
		if got := (catalog.Tool{Name: "t", Schema: catalog.Schema(schema)}).Parameters(); !slices.Equal(got, want) {
			t.Errorf("%s: %+v, want %+v", schema, got, want)
		}
	}
}
