package catalog

import "github.com/tidwall/gjson"

// Parameter is one of a tool's parameters as its schema names it.
type Parameter struct {
	Name        string
	Description string // "" where there is none
	Required    bool
	Closed      bool // the schema itself says which values there are: an enum, a constant, a boolean
}

// Parameters returns the parameters under "properties" at the schema's outermost level, in its order; of twins those of each. At most 256;
// none where the schema is no JSON object or array of such.
func (t Tool) Parameters() []Parameter {
	if len(t.Schema) == 0 || !gjson.ValidBytes(t.Schema) {
		return nil
	}
	root := gjson.ParseBytes(t.Schema)
	if !root.IsArray() {
		return schemaParameters(root, nil)
	}
	return twinParameters(root, nil, maxDepth)
}

// twinParameters appends the parameters of each schema in an array, which holds the earlier twins in an array of their own.
func twinParameters(node gjson.Result, list []Parameter, depth int) []Parameter {
	if !node.IsArray() || depth == 0 {
		return schemaParameters(node, list)
	}
	for _, twin := range node.Array() {
		list = twinParameters(twin, list, depth-1)
	}
	return list
}

// schemaParameters appends the parameters of one schema.
func schemaParameters(schema gjson.Result, list []Parameter) []Parameter {
	if !schema.IsObject() {
		return list
	}
	required := map[string]bool{}
	if names := schema.Get("required"); names.IsArray() {
		names.ForEach(func(_, name gjson.Result) bool {
			required[name.Str] = true
			return true
		})
	}
	schema.Get("properties").ForEach(func(name, value gjson.Result) bool {
		if len(list) >= maxParameters {
			return false
		}
		if !value.IsObject() {
			return true
		}
		closed := value.Get("type").Str == "boolean" || value.Get("enum").Exists() || value.Get("const").Exists()
		list = append(list, Parameter{Name: name.Str, Description: value.Get("description").Str, Required: required[name.Str], Closed: closed})
		return true
	})
	return list
}
