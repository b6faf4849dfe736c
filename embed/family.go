package embed

import "strings"

// family is what must be known of a family of embedding models to use one well.
type family struct {
	key      string // found in the model's name, lower case
	query    string // put before a Query
	document string // put before a Document
	version  int    // Model.Prefix: counts the changes of the two texts above; 0 where there are none
	window   int    // tokens of a text that the model reads, 0 unknown
}

const retrievalInstruct = "Represent this sentence for searching relevant passages: "

const taskInstruct = "Instruct: Given a user's request, retrieve the tools that help to fulfil it\nQuery: "

// families is ordered: the first whose key the name holds is the model's.
func families() []family {
	return []family{
		{key: "embeddinggemma", query: "task: search result | query: ", document: "title: none | text: ", version: 1, window: 2048},
		{key: "embedding-gemma", query: "task: search result | query: ", document: "title: none | text: ", version: 1, window: 2048},
		{key: "nomic-embed-text-v2", query: "search_query: ", document: "search_document: ", version: 1, window: 512},
		{key: "nomic-embed", query: "search_query: ", document: "search_document: ", version: 1, window: 2048},
		{key: "qwen3-embedding", query: taskInstruct, version: 1, window: 8192},
		{key: "bge-m3", window: 8192},
		{key: "bge-", query: retrievalInstruct, version: 1, window: 512},
		{key: "mxbai-embed", query: retrievalInstruct, version: 1, window: 512},
		{key: "snowflake-arctic-embed2", query: "query: ", version: 1, window: 8192},
		{key: "arctic-embed-l-v2", query: "query: ", version: 1, window: 8192},
		{key: "arctic-embed-m-v2", query: "query: ", version: 1, window: 8192},
		{key: "arctic-embed", query: retrievalInstruct, version: 1, window: 512},
		{key: "e5-mistral", query: taskInstruct, version: 1, window: 4096},
		{key: "multilingual-e5-large-instruct", query: taskInstruct, version: 1, window: 512},
		{key: "e5", query: "query: ", document: "passage: ", version: 1, window: 512},
		{key: "all-minilm", window: 256},
		{key: "text-embedding-3", window: 8191},
		{key: "text-embedding-ada", window: 8191},
	}
}

// defaultWindow is the window of a model of no known family.
const defaultWindow = 512

// maxDocumentTokens and maxQueryTokens bound what is sent of a text to any model, however large its window: a
// document says what it is in its first part, and a query must be back within the time of a turn.
const (
	maxDocumentTokens = 2048
	maxQueryTokens    = 512
)

// familyOf returns the family of a model by its name in any spelling: with or without namespace, tag, case, underscores.
func familyOf(model string) family {
	name := strings.ReplaceAll(strings.ToLower(model), "_", "-")
	for _, f := range families() {
		at := strings.Index(name, f.key)
		if at < 0 || f.key == "e5" && !standsAlone(name, at, len(f.key)) {
			continue
		}
		return f
	}
	return family{}
}

// standsAlone reports whether name[at:at+n] is not part of a longer word.
func standsAlone(name string, at, n int) bool {
	return (at == 0 || !isAlphanumeric(name[at-1])) && (at+n == len(name) || !isAlphanumeric(name[at+n]))
}

func isAlphanumeric(c byte) bool { return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' }

// prepare makes what is sent to a model of a text: the task's prefix and as much of the text as fits the window, which is
// given in tokens of the model (0: the family's, else 512) and counted in ours.
func (f family) prepare(v *vocab, kind Kind, text string, window int) string {
	prefix, limit := f.document, maxDocumentTokens
	if kind == Query {
		prefix, limit = f.query, maxQueryTokens
	}
	if window <= 0 {
		window = f.window
	}
	if window <= 0 {
		window = defaultWindow
	}
	const specials = 2 // begin and end of text
	limit = min(limit, window-specials-v.estimateTokens(prefix))
	return prefix + v.cut(kind, text, max(limit, 1))
}
