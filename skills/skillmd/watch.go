package skillmd

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"toolbelt/catalog"
	"toolbelt/skills"
)

// Shelf is where a Watch keeps what it finds. Implemented by *skills.Library.
type Shelf interface {
	Show(ctx context.Context, name string) (skills.Procedure, error)
	Take(ctx context.Context, p skills.Procedure) (skills.Procedure, error)
	Release(ctx context.Context, name, note string) error
	List(ctx context.Context) ([]skills.Procedure, error)
}

// Watch keeps the skills of a folder in a Shelf: new ones are added, changed ones follow their file, and one whose file is gone is disabled, with a note, until
// it is there again. A skill of the same name that does not come from the folder, or that its user edited here, stays as it is.
type Watch struct {
	dir   string
	shelf Shelf
	log   *slog.Logger
	seen  map[string][sha256.Size]byte // by path: what the file held when it was looked at last
	told  map[string]string            // by path: the last complaint
	gone  bool                         // the folder was not there when it was looked for last
}

// NewWatch returns a Watch, which does nothing until it looks. log may be nil.
func NewWatch(dir string, shelf Shelf, log *slog.Logger) *Watch {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Watch{dir: dir, shelf: shelf, log: log, seen: map[string][sha256.Size]byte{}, told: map[string]string{}}
}

// Run looks at once and at every interval, until ctx ends.
func (w *Watch) Run(ctx context.Context, interval time.Duration) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		w.complain(w.dir, w.Look(ctx))
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Look brings the shelf up to date with the folder. One file that cannot be used does not hold up the others: it is logged, once until
// it changes. A folder that is not there, or cannot be read, is logged as often; what it held before stays as it was. The error is the shelf's.
func (w *Watch) Look(ctx context.Context) error {
	if info, err := os.Stat(w.dir); err != nil || !info.IsDir() {
		w.missing(err)
		return nil // an unmounted disk must not disable everything
	}
	w.gone = false
	found, err := readFolder(w.dir)
	if err != nil && catalog.KindOf(err) != catalog.NotFound {
		return err
	}
	present := map[string]bool{}
	for _, f := range found {
		present[f.Path] = true
		if err := w.take(ctx, f); err != nil {
			return err
		}
	}
	for path := range w.seen {
		if !present[path] {
			delete(w.seen, path)
			delete(w.told, path)
		}
	}
	return w.release(ctx, present)
}

func (w *Watch) take(ctx context.Context, f Found) error {
	data, err := os.ReadFile(f.Path)
	if err != nil {
		w.complain(f.Path, err)
		return nil
	}
	sum := sha256.Sum256(data)
	if w.seen[f.Path] == sum {
		return nil
	}
	if f.Err != nil {
		w.complain(f.Path, f.Err)
		return nil
	}
	f.Procedure.Origin.Kind = skills.Folder
	p, err := w.shelf.Take(ctx, f.Procedure)
	switch catalog.KindOf(err) {
	case catalog.Conflict, catalog.Invalid:
		if err != nil {
			w.complain(f.Path, err)
			return nil
		}
	}
	if err != nil {
		return err
	}
	w.seen[f.Path] = sum
	delete(w.told, f.Path)
	w.log.Info("a skill was read from the watched folder", "skill", p.Name, "version", p.Version)
	return nil
}

// release disables the folder's skills whose files are gone.
func (w *Watch) release(ctx context.Context, present map[string]bool) error {
	all, err := w.shelf.List(ctx)
	if err != nil {
		return err
	}
	for _, p := range all {
		inside := strings.HasPrefix(p.Origin.Path, w.dir+string(filepath.Separator))
		if p.Origin.Kind != skills.Folder || p.Origin.Edited || !inside || present[p.Origin.Path] || !p.Enabled {
			continue
		}
		if _, err := os.Stat(p.Origin.Path); err == nil || !os.IsNotExist(err) && !isNotDir(err) {
			continue
		}
		if err := w.shelf.Release(ctx, p.Name, fmt.Sprintf("disabled: its file %s is gone", p.Origin.Path)); err != nil && catalog.KindOf(err) != catalog.Conflict {
			return err
		}
		w.log.Info("a skill was disabled: its file is gone from the watched folder", "skill", p.Name)
	}
	return nil
}

func isNotDir(err error) bool {
	_, ok := err.(*fs.PathError)
	return ok && strings.Contains(err.Error(), "not a directory")
}

// missing logs that there is no folder, where that is new. err is nil where something else is there.
func (w *Watch) missing(err error) {
	if w.gone {
		return
	}
	w.gone = true
	why := "it is no folder"
	switch {
	case errors.Is(err, fs.ErrNotExist):
		why = "it does not exist"
	case err != nil:
		why = err.Error()
	}
	w.log.Warn("there is no folder of skills where skills_dir says; it is read once it is there", "path", w.dir, "why", why)
}

// complain logs what is wrong with a file, or the folder, where that is new.
func (w *Watch) complain(path string, err error) {
	if err == nil {
		delete(w.told, path)
		return
	}
	if text := err.Error(); w.told[path] != text {
		w.told[path] = text
		w.log.Warn("a skill of the watched folder cannot be used", "path", path, "why", text)
	}
}
