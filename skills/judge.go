package skills

import (
	"context"
	"fmt"
	"slices"
	"time"

	"toolbelt/catalog"
)

// Count records that the procedure was tried, and whether it did the job. NotFound as Show.
func (l *Library) Count(ctx context.Context, name string, success bool) error {
	use := Failed
	if success {
		use = Succeeded
	}
	return l.tell(ctx, name, use)
}

// Judge records what became of a run that these procedures were recalled for: which tools it called, and whether it did the job. A procedure none
// of whose tools was called was recalled for nothing. One that is gone meanwhile is passed over. One that does too badly (see Trust)
// is disabled, with a note.
func (l *Library) Judge(ctx context.Context, names, called []string, success bool) error {
	for _, name := range names {
		p, err := l.Show(ctx, name)
		if catalog.KindOf(err) == catalog.NotFound {
			continue
		}
		if err != nil {
			return err
		}
		use := Unused
		if p.serves(func(tool string) bool { return slices.Contains(called, tool) }) {
			if use = Failed; success {
				use = Succeeded
			}
		}
		if err := l.tell(ctx, name, use); err != nil && catalog.KindOf(err) != catalog.NotFound {
			return err
		}
	}
	return nil
}

// tell counts a use, and disables the procedure where it does too badly by now.
func (l *Library) tell(ctx context.Context, name string, use Use) error {
	l.changing.Lock()
	defer l.changing.Unlock()
	if err := l.parts.Store.CountProcedure(ctx, name, use, l.parts.now()); err != nil {
		return err
	}
	p, err := l.Show(ctx, name)
	if err == nil && p.Enabled && use != Succeeded && p.Trust() < TrustFloor {
		p.Enabled = false
		p.Note = fmt.Sprintf("disabled on %s: of %d recalls that were used %d did the job, and %d were not used; enable it to try again",
			l.parts.now().UTC().Format(time.DateOnly), p.Attempts, p.Successes, p.Unused)
		_, err = l.save(ctx, p)
		if catalog.KindOf(err) == catalog.Conflict {
			err = nil // somebody changed it at this moment: it is judged again at its next use
		}
		return err
	}
	l.changed(ctx)
	return err
}

// Learn stores what was learned: a new procedure, and where it takes the place of another, that one as superseded by it. Conflict says
// that the name was taken or the other changed meanwhile: then nothing, or the new procedure alone, is stored.
func (l *Library) Learn(ctx context.Context, p Procedure, supersedes string) (Procedure, error) {
	saved, err := l.Add(ctx, p)
	if err != nil || supersedes == "" {
		return saved, err
	}
	l.changing.Lock()
	defer l.changing.Unlock()
	old, err := l.Show(ctx, supersedes)
	if err != nil {
		return saved, err
	}
	if !old.Automatic() {
		return saved, catalog.NewError(catalog.Conflict, fmt.Sprintf("the skill %q was edited meanwhile: it stays as it is", old.Name), nil)
	}
	old.SupersededBy = saved.Name
	_, err = l.save(ctx, old)
	return saved, err
}

// Return enables a procedure that Judge had disabled, since it did the job again without being recalled. One that its user disabled, or
// changed meanwhile, stays as it is.
func (l *Library) Return(ctx context.Context, name string) (Procedure, error) {
	p, err := l.Show(ctx, name)
	if err != nil || p.Enabled || p.Note == "" {
		return p, err
	}
	return l.Enable(ctx, name)
}
