// Package bundles groups tools that belong together, so that a matched tool can bring its mates.
package bundles

// Bundle is a named group of tools.
type Bundle struct {
	Name        string   `json:"name" yaml:"name" koanf:"name"`
	Description string   `json:"description,omitempty" yaml:"description" koanf:"description"`
	Members     []string `json:"members" yaml:"members" koanf:"members"`
}
