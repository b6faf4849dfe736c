package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"toolbelt/internal/sqlite"
)

func newMemoryExportCommand(p Process) *cobra.Command {
	to := ""
	cmd := &cobra.Command{
		Use:   "export [--to FILE]",
		Short: "Write all that was learned as JSON lines",
		Long: `Write all that was learned, as of one moment, as JSON lines: runs, skills with their former versions, examples and habits. A running daemon is not
disturbed. The lines hold what users said: keep the file as private as the database. "toolbelt memory import" reads it.`,
		Example: `  toolbelt memory export --to backup.jsonl
  toolbelt memory export | gzip > backup.jsonl.gz`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withDatabase(cmd, p, openKept, func(db *sqlite.DB, _ *slog.Logger) error {
				if to == "" || to == "-" {
					return db.ExportMemory(cmd.Context(), p.Stdout)
				}
				file, err := os.OpenFile(pathIn(p, to), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
				if errors.Is(err, os.ErrExist) {
					return fmt.Errorf("there is a file %q already: name another", to)
				}
				if err != nil {
					return fmt.Errorf("writing the export: %v", err)
				}
				if err := errors.Join(db.ExportMemory(cmd.Context(), file), file.Sync(), file.Close()); err != nil {
					_ = os.Remove(file.Name()) // half an export is none
					return err
				}
				_, err = fmt.Fprintf(p.Stdout, "wrote %s\n", to)
				return err
			})
		},
	}
	cmd.Flags().StringVar(&to, "to", "", "`file` to write, which must not exist; without it standard output")
	return skillsSettings(cmd)
}

func newMemoryImportCommand(p Process) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Take in what \"memory export\" wrote",
		Long: `Take in what "toolbelt memory export" wrote, whole or not at all; - is standard input. A skill that is here already stays as it is. A running daemon sees
skills at once, and examples when it starts again.`,
		Example: "  toolbelt memory import backup.jsonl",
		Args:    onePath,
		RunE: func(cmd *cobra.Command, args []string) error {
			in := io.NopCloser(p.Stdin)
			if args[0] != "-" {
				file, err := os.Open(pathIn(p, args[0]))
				if err != nil {
					return fmt.Errorf("reading the export: %v", err)
				}
				in = file
			}
			defer in.Close()
			return withDatabase(cmd, p, openToWrite, func(db *sqlite.DB, _ *slog.Logger) error {
				done, err := db.ImportMemory(cmd.Context(), in)
				if err != nil {
					return err
				}
				if asJSON {
					return printJSON(p.Stdout, done)
				}
				fmt.Fprintf(p.Stdout, "imported %s, %s, %s and %s\n", count(done.Runs, "run"), count(done.Skills, "skill"), count(done.Examples, "example"), count(done.Habits, "habit"))
				for _, name := range done.Kept {
					fmt.Fprintf(p.Stdout, "the skill %s was here already and stays as it is\n", name)
				}
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	return skillsSettings(cmd)
}
