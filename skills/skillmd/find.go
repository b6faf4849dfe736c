package skillmd

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"toolbelt/catalog"
	"toolbelt/skills"
)

// The bounds of what is looked through.
const (
	MaxZipBytes = 64 << 20
	maxEntries  = 10_000
	maxDepth    = 6
	maxSkills   = 1000
)

// Found is one SKILL.md of a folder or archive, or why it cannot be used.
type Found struct {
	Path string // of the file
	Document
	Err error
}

// Read reads path: a SKILL.md, a folder that holds some at any depth up to 6, or a zip archive of such a folder. Every skill found is returned, broken
// ones with their errors; two of one name are both errors, since it cannot be told which is meant. An error is of kind NotFound where
// nothing is there, Invalid where path cannot be read as any of these.
func Read(name string) ([]Found, error) {
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, catalog.NewError(catalog.NotFound, fmt.Sprintf("there is no file or folder %q", name), nil)
	case err != nil:
		return nil, catalog.NewError(catalog.Unavailable, fmt.Sprintf("looking at %q", name), err)
	case info.IsDir():
		return readFolder(name)
	case strings.EqualFold(filepath.Ext(name), ".zip"):
		if info.Size() > MaxZipBytes {
			return nil, tooLarge(name, info.Size(), MaxZipBytes)
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, catalog.NewError(catalog.Unavailable, fmt.Sprintf("reading %q", name), err)
		}
		return ReadZip(data)
	case info.Size() > MaxFileBytes:
		return nil, tooLarge(name, info.Size(), MaxFileBytes)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, catalog.NewError(catalog.Unavailable, fmt.Sprintf("reading %q", name), err)
	}
	return []Found{parsed(name, data)}, nil
}

func tooLarge(name string, size, limit int64) error {
	return catalog.NewError(catalog.Invalid, fmt.Sprintf("%q has %d bytes: at most %d are read", name, size, limit), nil)
}

func parsed(name string, data []byte) Found {
	f := Found{Path: name}
	f.Document, f.Err = Parse(data)
	f.Procedure.Origin.Path = name
	return f
}

func readFolder(root string) ([]Found, error) {
	var found []Found
	seen := 0
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if seen++; seen > maxEntries || len(found) > maxSkills {
			return catalog.NewError(catalog.Invalid, fmt.Sprintf("the folder %q holds more than %d files or %d skills: name a folder of skills", root, maxEntries, maxSkills), nil)
		}
		if entry.IsDir() {
			inside, _ := filepath.Rel(root, name)
			if name != root && (strings.HasPrefix(entry.Name(), ".") || strings.Count(filepath.ToSlash(inside), "/") >= maxDepth) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.EqualFold(entry.Name(), FileName) || !entry.Type().IsRegular() {
			return nil
		}
		f := Found{Path: name}
		info, err := entry.Info()
		if err == nil && info.Size() > MaxFileBytes {
			f.Err = tooLarge(name, info.Size(), MaxFileBytes)
		} else if data, err := os.ReadFile(name); err != nil {
			f.Err = catalog.NewError(catalog.Unavailable, fmt.Sprintf("reading %q", name), err)
		} else {
			f = parsed(name, data)
		}
		found = append(found, f)
		return nil
	})
	if err == nil && len(found) == 0 {
		err = catalog.NewError(catalog.NotFound, fmt.Sprintf("the folder %q holds no %s", root, FileName), nil)
	}
	return twins(found), err
}

// ReadZip is Read for the bytes of an archive. Nothing is ever unpacked to a disk; an archive with names that lead out of it is refused
// as a whole, and of each SKILL.md no more is unpacked than one may have, whatever the archive says of its size.
func ReadZip(data []byte) ([]Found, error) {
	if len(data) > MaxZipBytes {
		return nil, tooLarge("the archive", int64(len(data)), MaxZipBytes)
	}
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, catalog.NewError(catalog.Invalid, "reading the archive: it is no zip file, or a damaged one", nil)
	}
	if len(archive.File) > maxEntries {
		return nil, catalog.NewError(catalog.Invalid, fmt.Sprintf("the archive holds %d files: at most %d are looked at", len(archive.File), maxEntries), nil)
	}
	var found []Found
	for _, file := range archive.File {
		if leadsOut(file.Name) {
			return nil, catalog.NewError(catalog.Invalid, fmt.Sprintf("the archive holds %q, a name that leads out of it: nothing of it is imported", file.Name), nil)
		}
	}
	for _, file := range archive.File {
		if !strings.EqualFold(path.Base(file.Name), FileName) || file.FileInfo().IsDir() || strings.Count(file.Name, "/") > maxDepth || strings.HasPrefix(file.Name, "__MACOSX/") {
			continue
		}
		if len(found) >= maxSkills {
			return nil, catalog.NewError(catalog.Invalid, fmt.Sprintf("the archive holds more than %d skills", maxSkills), nil)
		}
		text, err := unpack(file)
		if err != nil {
			found = append(found, Found{Path: file.Name, Err: err})
			continue
		}
		found = append(found, parsed(file.Name, text))
	}
	if len(found) == 0 {
		return nil, catalog.NewError(catalog.NotFound, "the archive holds no "+FileName, nil)
	}
	return twins(found), nil
}

// leadsOut reports whether a name of an archive points outside of it.
func leadsOut(name string) bool {
	name = strings.ReplaceAll(name, `\`, "/")
	return strings.HasPrefix(name, "/") || len(name) > 1 && name[1] == ':' || slices.Contains(strings.Split(name, "/"), "..")
}

func unpack(file *zip.File) ([]byte, error) {
	r, err := file.Open()
	if err != nil {
		return nil, catalog.NewError(catalog.Invalid, fmt.Sprintf("unpacking %q", file.Name), err)
	}
	defer r.Close()
	text, err := io.ReadAll(io.LimitReader(r, MaxFileBytes+1))
	if len(text) > MaxFileBytes {
		return nil, catalog.NewError(catalog.Invalid, fmt.Sprintf("%q unpacks to more than %d bytes: at most that many are read", file.Name, MaxFileBytes), nil)
	}
	if err != nil {
		return nil, catalog.NewError(catalog.Invalid, fmt.Sprintf("unpacking %q", file.Name), err)
	}
	return text, nil
}

// twins makes errors of those that share a name.
func twins(found []Found) []Found {
	first := map[string]int{}
	for i := range found {
		name := found[i].Procedure.Name
		if found[i].Err != nil {
			continue
		}
		if at, twice := first[name]; twice {
			err := catalog.NewError(catalog.Conflict, fmt.Sprintf("%q and %q are both named %q: keep one", found[at].Path, found[i].Path, name), nil)
			found[i].Err = err
			found[at].Err = err
			continue
		}
		first[name] = i
	}
	return found
}

// Zip packs procedures, each as NAME/SKILL.md.
func Zip(w io.Writer, list []skills.Procedure) error {
	archive := zip.NewWriter(w)
	for _, p := range list {
		text, err := Write(p)
		if err != nil {
			return err
		}
		file, err := archive.Create(p.Name + "/" + FileName)
		if err != nil {
			return err
		}
		if _, err := file.Write(text); err != nil {
			return err
		}
	}
	return archive.Close()
}

// Folder writes a procedure to dir/NAME/SKILL.md and returns that path. An error of kind Conflict says that the file is there already and
// differs, unless replace is true.
func Folder(dir string, p skills.Procedure, replace bool) (string, error) {
	text, err := Write(p)
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, p.Name, FileName)
	if old, err := os.ReadFile(name); err == nil && !replace && !bytes.Equal(old, text) {
		return "", catalog.NewError(catalog.Conflict, fmt.Sprintf("there is a file %q already, and it differs", name), nil)
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return "", catalog.NewError(catalog.Unavailable, fmt.Sprintf("making the folder for %q", name), err)
	}
	if err := os.WriteFile(name, text, 0o600); err != nil {
		return "", catalog.NewError(catalog.Unavailable, fmt.Sprintf("writing %q", name), err)
	}
	return name, nil
}
