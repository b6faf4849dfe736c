package embed

import (
	"context"
	"strings"

	"github.com/ollama/ollama/api"

	"toolbelt/catalog"
)

// preferred lists the embedding models that are chosen by themselves, best first: by what they find within the time
// of a turn on a laptop. A model matches by its name without namespace, up to "-", ":" or the end.
func preferred() []string {
	return []string{
		"embeddinggemma", "nomic-embed-text", "qwen3-embedding:0.6b", "qwen3-embedding-0.6b", "bge-m3", "bge-base", "bge-small", "bge-large",
		"snowflake-arctic-embed2", "snowflake-arctic-embed", "mxbai-embed-large", "granite-embedding",
		"multilingual-e5", "e5", "paraphrase-multilingual", "all-minilm",
	}
}

// maxChosenBytes bounds the size of a model that is chosen by itself: a larger one is never in time, and pushes the chat model out.
const maxChosenBytes = 3 << 29

// Discover returns the name of the preferred embedding model among those that the engine has already. It never pulls one:
// none is an error of kind NotFound, an engine that does not answer one of kind Unavailable.
func Discover(ctx context.Context, client *api.Client) (string, error) {
	list, err := client.List(ctx)
	if err != nil {
		return "", unavailable("looking for an embedding model", shortened(err))
	}
	for _, want := range preferred() {
		for _, m := range list.Models {
			if m.RemoteHost == "" && m.Size <= maxChosenBytes && isVariant(m.Name, want) {
				return shortName(m.Name), nil
			}
		}
	}
	return "", catalog.NewError(catalog.NotFound, "the engine has no embedding model that is known: get one with \"ollama pull embeddinggemma\"", nil)
}

// isVariant reports whether name, its namespace left out, is the model want or a size, tag or quantisation of it.
func isVariant(name, want string) bool {
	base := strings.ToLower(name[strings.LastIndexByte(name, '/')+1:])
	rest, ok := strings.CutPrefix(base, want)
	return ok && (rest == "" || rest[0] == ':' || rest[0] == '-')
}

// isEmbedding reports whether a model of this name or architecture only embeds.
func isEmbedding(name, architecture string) bool {
	return familyOf(name).key != "" || strings.Contains(strings.ToLower(name), "embed") || strings.Contains(strings.ToLower(architecture), "bert")
}
