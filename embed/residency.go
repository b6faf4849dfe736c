package embed

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ollama/ollama/api"

	"toolbelt/catalog"
)

// ErrEvicts says that the engine does not keep the embedding model and a chat model loaded at the same time.
var ErrEvicts = catalog.NewError(catalog.Unavailable, "the embedding model and the chat model do not stay loaded together", nil)

// Residency watches over the models that an Ollama has loaded, so that embedding never costs a user the
// chat model. It compares what is loaded before a use of the embedder with what is afterwards. Safe for concurrent use.
type Residency struct{ client *api.Client }

var _ Guard = (*Residency)(nil)

// NewResidency watches the engine of client.
func NewResidency(client *api.Client) *Residency { return &Residency{client: client} }

// loadedModels is what an engine has loaded at one time.
type loadedModels struct {
	embedder bool
	chat     map[string]time.Time // until when each stays if nothing is asked of it
}

// Open opens the embedder of this model, where that does no harm: it is loaded already, or a chat model is loaded and is
// still there after the embedder has been used once. It returns an error that is ErrEvicts where the chat model went,
// and one that is ErrNotReady where no chat model is loaded: then nobody can know yet, and nothing is loaded.
func (r *Residency) Open(ctx context.Context, model string, open func(context.Context) (Embedder, error)) (Embedder, error) {
	before, err := r.look(ctx, Model{Name: model})
	if err != nil {
		return nil, err
	}
	if !before.embedder && len(before.chat) == 0 {
		return nil, because{fmt.Sprintf("no chat model is loaded, beside which to try %q", model), ErrNotReady}
	}
	e, err := open(ctx)
	if err != nil {
		return nil, err
	}
	after, err := r.look(ctx, e.Model())
	if err != nil {
		return nil, err
	}
	if err := before.harmed(after, e.Model().Name); err != nil {
		return nil, err
	}
	if gone := before.missing(after); !before.embedder && len(gone) > 0 {
		return nil, because{fmt.Sprintf("the chat model changed while %q was tried", model), ErrNotReady}
	}
	return e, nil
}

// Watch looks at once and does not wait for what it sees: an engine takes longer to load a model than to tell which ones are loaded.
// Cost: a small request in the background, and another one when the func that it returns is called.
func (r *Residency) Watch(ctx context.Context, m Model) func(context.Context) error {
	type look struct {
		models loadedModels
		err    error
	}
	first := make(chan look, 1)
	go func() {
		models, err := r.look(ctx, m)
		first <- look{models, err}
	}()
	return func(ctx context.Context) error {
		after, err := r.look(ctx, m)
		if err != nil {
			return err
		}
		before := <-first
		if before.err != nil {
			return before.err
		}
		return before.models.harmed(after, m.Name)
	}
}

// harmed returns an ErrEvicts where loading the embedder put a chat model out before its time with no other in its place, or where a
// chat model is there but the embedder, used a moment ago, is not.
func (before loadedModels) harmed(after loadedModels, embedder string) error {
	if !after.embedder && len(after.chat) > 0 {
		return because{fmt.Sprintf("%s did not stay loaded beside the chat model", embedder), ErrEvicts}
	}
	gone, others := before.missing(after), after.missing(before)
	if !before.embedder && after.embedder && len(gone) > 0 && len(others) == 0 {
		return because{fmt.Sprintf("loading %s evicted %s", embedder, strings.Join(gone, ", ")), ErrEvicts}
	}
	return nil
}

// missing returns the chat models of a that are not in b, though their time was not over, in alphabetical order.
func (a loadedModels) missing(b loadedModels) []string {
	var names []string
	for name, until := range a.chat {
		if _, ok := b.chat[name]; !ok && time.Now().Before(until) {
			names = append(names, shortName(name))
		}
	}
	slices.Sort(names)
	return names
}

func (r *Residency) look(ctx context.Context, embedder Model) (loadedModels, error) {
	running, err := r.client.ListRunning(ctx)
	if err != nil {
		return loadedModels{}, unavailable("asking which models are loaded", shortened(err))
	}
	seen := loadedModels{chat: map[string]time.Time{}}
	for _, m := range running.Models {
		switch {
		case sameModel(m.Name, embedder.Name) || embedder.Digest != "" && m.Digest == embedder.Digest:
			seen.embedder = true
		case !isEmbedding(m.Name, m.Details.Family):
			seen.chat[m.Name] = m.ExpiresAt
		}
	}
	return seen, nil
}

// OpenAuto returns what NewNeural opens for "auto": the named model, or where model is "" the one that Discover
// prefers, used only as guard allows.
func OpenAuto(client *api.Client, model string, guard *Residency) func(context.Context) (Embedder, error) {
	return func(ctx context.Context) (Embedder, error) {
		name := model
		if name == "" {
			var err error
			if name, err = Discover(ctx, client); err != nil {
				return nil, err
			}
		}
		return guard.Open(ctx, name, func(ctx context.Context) (Embedder, error) {
			return NewOllama(ctx, client, name)
		})
	}
}
