package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"toolbelt/catalog"
	"toolbelt/internal/sqlite"
	"toolbelt/skills"
	"toolbelt/skills/skillmd"
)

func newSkillsImportCommand(p Process) *cobra.Command {
	replace, dryRun, asJSON := false, false, false
	cmd := &cobra.Command{
		Use:   "import PATH",
		Short: "Import skills from SKILL.md files",
		Long: `Import skills in the public Agent Skills format: a SKILL.md, a folder that holds some, or a zip archive of one. Tools are read from
metadata.toolbelt.tools_required, metadata.gaia.tools_required, tools_required or allowed-tools. A skill that names tools which no app brings is kept and
works for those that exist. Other files of a skill are not kept. One broken skill does not hold up the others.`,
		Example: `  toolbelt skills import report/SKILL.md
  toolbelt skills import ~/skills --dry-run
  toolbelt skills import skills.zip --replace`,
		Args: onePath,
		RunE: func(cmd *cobra.Command, args []string) error {
			found, err := skillmd.Read(pathIn(p, args[0]))
			if err != nil {
				return err
			}
			open := openToWrite
			if dryRun {
				open = openToTry
			}
			return withSkillsAndDatabase(cmd, p, open, func(ctx context.Context, _ *sqlite.DB, library *skills.Library) error {
				list, failed, err := importSkills(ctx, library, found, replace, dryRun)
				if err != nil {
					return err
				}
				if asJSON {
					err = printJSON(p.Stdout, map[string]any{"skills": list})
				} else {
					err = printImported(p.Stdout, list)
				}
				if err == nil && failed > 0 {
					err = fmt.Errorf("%d of %d skills were not imported", failed, len(list))
				}
				return err
			})
		},
	}
	cmd.Flags().BoolVar(&replace, "replace", false, "replace skills of the same name; their former versions are kept")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "only say what would be imported")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	return skillsSettings(cmd)
}

// importedSkill is what became of one SKILL.md.
type importedSkill struct {
	Path     string   `json:"path"`
	Name     string   `json:"name"`
	Tools    []string `json:"tools_required"`
	Done     string   `json:"done"` // imported, replaced, unchanged or failed
	Why      string   `json:"why,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
}

func importSkills(ctx context.Context, library *skills.Library, found []skillmd.Found, replace, dryRun bool) (list []importedSkill, failed int, err error) {
	for _, f := range found {
		in := importedSkill{Path: f.Path, Name: f.Procedure.Name, Tools: append([]string{}, f.Procedure.ToolsRequired...), Warnings: f.Warnings}
		if f.Err == nil {
			in.Done, f.Err = importSkill(ctx, library, f.Procedure, replace, dryRun)
		}
		if f.Err != nil {
			switch catalog.KindOf(f.Err) {
			case catalog.Invalid, catalog.Conflict, catalog.NotFound:
			default:
				return list, failed, f.Err
			}
			in.Done, in.Why = "failed", f.Err.Error()
			failed++
		}
		list = append(list, in)
	}
	return list, failed, nil
}

func importSkill(ctx context.Context, library *skills.Library, s skills.Procedure, replace, dryRun bool) (string, error) {
	old, err := library.Show(ctx, s.Name)
	switch {
	case catalog.KindOf(err) == catalog.NotFound && err != nil:
		if !dryRun {
			_, err = library.Add(ctx, s)
		} else {
			err = nil
		}
		return "imported", err
	case err != nil:
		return "", err
	case sameSkill(old, s):
		return "unchanged", nil
	case !replace:
		return "", catalog.NewError(catalog.Conflict, fmt.Sprintf("there is a skill %q already, and it differs: give --replace to replace it", s.Name), nil)
	}
	s.Enabled, s.Version, s.Examples, s.NotFor = old.Enabled, old.Version, old.Examples, old.NotFor
	if !dryRun {
		_, err = library.Save(ctx, s)
	}
	return "replaced", err
}

// sameSkill reports whether two skills say the same to those who use them.
func sameSkill(a, b skills.Procedure) bool {
	return a.WhenToUse == b.WhenToUse && strings.TrimSpace(a.Body) == strings.TrimSpace(b.Body) && slices.Equal(a.ToolsRequired, b.ToolsRequired) && slices.Equal(a.ToolSequence, b.ToolSequence)
}

func printImported(w io.Writer, list []importedSkill) error {
	for _, in := range list {
		if in.Done == "failed" {
			fmt.Fprintf(w, "failed %s: %s\n", in.Path, in.Why)
			continue
		}
		fmt.Fprintf(w, "%s %s: tools %s\n", in.Done, in.Name, strings.Join(in.Tools, ", "))
		for _, warning := range in.Warnings {
			fmt.Fprintf(w, "  %s\n", warning)
		}
	}
	return nil
}

func onePath(_ *cobra.Command, args []string) error {
	if len(args) != 1 || args[0] == "" {
		return fmt.Errorf("got %d paths, allowed is one", len(args))
	}
	return nil
}

// pathIn is a path as seen from the process's working folder.
func pathIn(p Process, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(p.Dir, name)
}

func newSkillsExportCommand(p Process) *cobra.Command {
	to, all, replace := "", false, false
	cmd := &cobra.Command{
		Use:   "export NAME… [--to FOLDER|FILE.zip]",
		Short: "Export skills as SKILL.md files",
		Long: `Export skills in the public Agent Skills format: to a folder, each as NAME/SKILL.md, or to a zip archive; one skill without --to is printed. The
requests that a skill was learned from are not exported, but its description may be one of them: read it before you give it away.`,
		Example: `  toolbelt skills export weekly-report
  toolbelt skills export weekly-report trip --to ~/skills
  toolbelt skills export --all --to skills.zip`,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case all == (len(args) > 0):
				return errors.New("give names of skills or --all, one of them: what is to be exported?")
			case to == "" && len(args) != 1:
				return errors.New("--to is missing: name the folder or zip file to write")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return withSkills(cmd, p, func(ctx context.Context, library *skills.Library) error {
				list, err := library.List(ctx)
				if err != nil {
					return err
				}
				if !all {
					list = nil
					for _, name := range args {
						s, err := library.Show(ctx, name)
						if err != nil {
							return err
						}
						list = append(list, s)
					}
				}
				return exportSkills(p, list, to, replace)
			})
		},
	}
	cmd.Flags().StringVar(&to, "to", "", "`folder` or zip file to write")
	cmd.Flags().BoolVar(&all, "all", false, "export all skills")
	cmd.Flags().BoolVar(&replace, "replace", false, "write over files that are there")
	return skillsSettings(cmd)
}

func exportSkills(p Process, list []skills.Procedure, to string, replace bool) error {
	switch {
	case to == "":
		text, err := skillmd.Write(list[0])
		if err == nil {
			_, err = p.Stdout.Write(text)
		}
		return err
	case strings.EqualFold(filepath.Ext(to), ".zip"):
		return exportZip(p, list, to, replace)
	}
	for _, s := range list {
		path, err := skillmd.Folder(pathIn(p, to), s, replace)
		if err != nil {
			return fmt.Errorf("%w: give --replace to write over it", err)
		}
		fmt.Fprintf(p.Stdout, "wrote %s\n", path)
	}
	return nil
}

func exportZip(p Process, list []skills.Procedure, to string, replace bool) error {
	flags := os.O_CREATE | os.O_WRONLY | os.O_EXCL
	if replace {
		flags = os.O_CREATE | os.O_WRONLY | os.O_TRUNC
	}
	var packed bytes.Buffer
	if err := skillmd.Zip(&packed, list); err != nil {
		return err
	}
	file, err := os.OpenFile(pathIn(p, to), flags, 0o600)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("there is a file %q already: give --replace to write over it", to)
	}
	if err != nil {
		return fmt.Errorf("writing the archive: %v", err)
	}
	_, err = file.Write(packed.Bytes())
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("writing the archive: %v", err)
	}
	_, err = fmt.Fprintf(p.Stdout, "wrote %s to %s\n", count(len(list), "skill"), to)
	return err
}

func newSkillsEditCommand(p Process) *cobra.Command {
	file := ""
	cmd := &cobra.Command{
		Use:   "edit NAME",
		Short: "Change a skill in an editor, or from a SKILL.md",
		Long: `Change a skill as a SKILL.md: in the editor that $VISUAL or $EDITOR names, or from --file, where - is standard input. Its name stays. What you
changed nothing else changes any more; the former version is kept ("toolbelt skills history").`,
		Example: `  toolbelt skills edit weekly-report
  toolbelt skills export weekly-report | sed s/Martha/Ann/ | toolbelt skills edit weekly-report --file -`,
		Args: oneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			return withSkills(cmd, p, func(ctx context.Context, library *skills.Library) error {
				old, err := library.Show(ctx, args[0])
				if err != nil {
					return err
				}
				text, err := editedText(ctx, p, old, file)
				if err != nil {
					return err
				}
				return saveEdited(ctx, p, library, old, text)
			})
		},
	}
	cmd.Flags().StringVar(&file, "file", "", "`SKILL.md` to take the change from, - for standard input")
	return skillsSettings(cmd)
}

func saveEdited(ctx context.Context, p Process, library *skills.Library, old skills.Procedure, text []byte) error {
	d, err := skillmd.Parse(text)
	if err != nil {
		return err
	}
	s := d.Procedure
	if s.Name != old.Name {
		return &usageError{fmt.Errorf("the text names the skill %q: the name stays %q; \"toolbelt skills import\" adds another", s.Name, old.Name)}
	}
	if sameSkill(old, s) {
		_, err := fmt.Fprintf(p.Stdout, "the skill %s is unchanged\n", old.Name)
		return err
	}
	s.Enabled, s.Version, s.Examples, s.NotFor = old.Enabled, old.Version, old.Examples, old.NotFor
	extra, license, release := s.Origin.Extra, s.Origin.License, s.Origin.Release
	s.Origin = old.Origin
	s.Origin.Extra, s.Origin.License, s.Origin.Release = extra, license, release
	saved, err := library.Save(ctx, s)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.Stdout, "saved the skill %s, version %d\n", saved.Name, saved.Version)
	return err
}

// editedText is the skill's SKILL.md after its user changed it.
func editedText(ctx context.Context, p Process, s skills.Procedure, file string) ([]byte, error) {
	if file != "" {
		text, err := readInput(p, file, skillmd.MaxFileBytes)
		if err != nil {
			return nil, fmt.Errorf("reading the change: %w", err)
		}
		return text, nil
	}
	editor := valueOf(p.Environ, "VISUAL")
	if editor == "" {
		editor = valueOf(p.Environ, "EDITOR")
	}
	if editor == "" {
		return nil, &usageError{errors.New("no editor is known: set EDITOR, or give --file")}
	}
	text, err := skillmd.Write(s)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "toolbelt-edit-")
	if err != nil {
		return nil, fmt.Errorf("making a place to edit: %v", err)
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, skillmd.FileName)
	if err := os.WriteFile(name, text, 0o600); err != nil {
		return nil, fmt.Errorf("writing the text to edit: %v", err)
	}
	words := append(strings.Fields(editor), name)
	run := exec.CommandContext(ctx, words[0], words[1:]...)
	run.Stdin, run.Stdout, run.Stderr, run.Env, run.Dir = p.Stdin, p.Stdout, p.Stderr, p.Environ, p.Dir
	if err := run.Run(); err != nil {
		return nil, fmt.Errorf("running the editor %q: %v; nothing was changed", editor, err)
	}
	return os.ReadFile(name)
}

func newSkillsHistoryCommand(p Process) *cobra.Command {
	restore, asJSON := 0, false
	cmd := &cobra.Command{
		Use:   "history NAME",
		Short: "List the former versions of a skill, and bring one back",
		Example: `  toolbelt skills history weekly-report
  toolbelt skills history weekly-report --restore 2`,
		Args: oneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			return withSkillsAndDatabase(cmd, p, openKept, historyOf(p, args[0], &restore, &asJSON))
		},
	}
	cmd.Flags().IntVar(&restore, "restore", 0, "`version` to bring back, as a new one")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	return skillsSettings(cmd)
}
