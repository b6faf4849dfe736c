package learn

import "context"

// Kept is all that a Store holds.
type Kept struct {
	Examples []Example // in no order
	Follows  []Follow
	Erasures int // how often something was erased
}

// Change is what a Learner writes at once.
type Change struct {
	Put     []Example // each replaces the one of its app, hash and text; vectors of further models are added to those that are there
	Drop    []Example // identified by app, hash and text
	Follows []Follow  // each replaces the one of its app, from and to; a Count of 0 removes it
}

// Empty reports whether there is nothing to write.
func (c Change) Empty() bool { return len(c.Put)+len(c.Drop)+len(c.Follows) == 0 }

// Erased counts what was erased.
type Erased struct{ Examples, Follows int }

// Store keeps what was learned over restarts. Implemented by internal/sqlite; several processes may share one. Methods may
// block on a disk; the Learner calls them from a goroutine of its own.
type Store interface {
	// Learned returns everything. An example or vector that cannot be read is left out.
	Learned(ctx context.Context) (Kept, error)
	// SaveLearned writes the change whole. Where something was erased since erasures, it writes nothing and returns an error of kind Conflict:
	// what was erased must not come back from somebody's memory.
	SaveLearned(ctx context.Context, erasures int, c Change) error
	// Erasures is Kept.Erasures alone.
	Erasures(ctx context.Context) (int, error)
	// EraseLearned removes all that is kept of the tools of this name, in every app; of every tool where it is "". Nothing to remove is no
	// error, and counts as an erasure all the same.
	EraseLearned(ctx context.Context, tool string) (Erased, error)
}
