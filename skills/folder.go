package skills

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"toolbelt/catalog"
)

// Take stores a procedure that comes from the watched folder: it is added, or replaces the one of its name that came from there before. An error of kind
// Conflict says that one of its name is somebody's own, or was edited here: it stays as it is.
func (l *Library) Take(ctx context.Context, p Procedure) (Procedure, error) {
	l.changing.Lock()
	defer l.changing.Unlock()
	old, err := l.Show(ctx, p.Name)
	switch {
	case catalog.KindOf(err) == catalog.NotFound && err != nil:
		p.Enabled = true
		return l.save(ctx, p)
	case err != nil:
		return Procedure{}, err
	case old.Origin.Kind != Folder:
		return Procedure{}, catalog.NewError(catalog.Conflict, fmt.Sprintf("there is a skill %q already that does not come from this folder", p.Name), nil)
	case old.Origin.Edited:
		return Procedure{}, catalog.NewError(catalog.Conflict, fmt.Sprintf("the skill %q was edited here: its file is not read any more", p.Name), nil)
	}
	p.Enabled, p.Note, p.Version = old.Enabled || old.Note != "", "", old.Version
	same := old.WhenToUse == p.WhenToUse && old.Body == p.Body && old.Enabled == p.Enabled && reflect.DeepEqual(old.Origin, p.Origin) &&
		slices.Equal(old.ToolsRequired, p.ToolsRequired) && slices.Equal(old.ToolSequence, p.ToolSequence)
	if same {
		return old, nil
	}
	return l.save(ctx, p)
}

// Release disables a procedure of the watched folder, with a note. One that was edited, or disabled already, stays as it is.
func (l *Library) Release(ctx context.Context, name, note string) error {
	l.changing.Lock()
	defer l.changing.Unlock()
	p, err := l.Show(ctx, name)
	if err != nil || !p.Enabled || p.Origin.Kind != Folder || p.Origin.Edited {
		return err
	}
	p.Enabled, p.Note = false, note
	_, err = l.save(ctx, p)
	return err
}
