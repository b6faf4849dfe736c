package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Process is what the program needs of the process that it runs in.
type Process struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Environ        []string // NAME=value
	Dir            string   // working directory, absolute
}

// Run runs the command line args (without the program's name) until it is done or ctx ends. An error has been
// printed to Stderr, as "toolbelt: sentence", when Run returns it.
func Run(ctx context.Context, args []string, p Process) error {
	root := newRootCommand(p)
	root.SetArgs(args)
	root.SetIn(p.Stdin)
	root.SetOut(p.Stdout)
	root.SetErr(p.Stderr)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return nil
	}
	var ran *ranError
	if !errors.As(err, &ran) {
		err = &usageError{err}
	}
	fmt.Fprintf(p.Stderr, "toolbelt: %s\n", strings.TrimSpace(err.Error()))
	if ran == nil {
		fmt.Fprintf(p.Stderr, "Run \"%s --help\" for what it takes.\n", cmd.CommandPath())
	}
	return err
}

// ExitStatus is the process's exit status after Run: 0 done, 1 a run that could not be completed, 2 wrong use.
func ExitStatus(err error) int {
	var usage *usageError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &usage):
		return 2
	}
	return 1
}

// usageError is wrong use: the command line or the configuration must change before another try.
type usageError struct{ error }

func (e *usageError) Unwrap() error { return e.error }

// ranError marks what a command itself reported; all else is cobra's, about the command line.
type ranError struct{ error }

func (e *ranError) Unwrap() error { return e.error }

func newRootCommand(p Process) *cobra.Command {
	root := &cobra.Command{
		Use:   "toolbelt",
		Short: "Show a local model only the tools that it needs",
		Long: `Toolbelt stands between a local chat app and its engine (Ollama, Lemonade, any OpenAI-compatible server) and
decides, before each turn's first token, which tools the model sees.

Settings come from a file, then TOOLBELT_ variables, then flags, the later the stronger; "toolbelt config" shows what
is in force and where it came from. The file is the one that --config or TOOLBELT_CONFIG names, else toolbelt/toolbelt.yaml in
the configuration folder ($XDG_CONFIG_HOME or ~/.config), else toolbelt.yaml in the working folder.`,
		Example: `  toolbelt serve
  toolbelt select --tools demo "what is on my calendar tomorrow?"
  toolbelt config`,
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          knownCommand,
		RunE:          nothing,
	}
	root.SuggestionsMinimumDistance = 2
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetVersionTemplate("toolbelt {{.Version}}\n")
	root.AddCommand(newServeCommand(p), newSelectCommand(p), newExplainCommand(p), newCalibrateCommand(p), newReportCommand(p), newConfigCommand(p), newSkillsCommand(p), newMemoryCommand(p),
		newDemoCommand(p.Stdout, p.Stderr), newEvalCommand(p), newVersionCommand(p))
	for _, cmd := range root.Commands() {
		markRuns(cmd)
	}
	root.SetFlagErrorFunc(knownFlag)
	root.InitDefaultHelpCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() == "help" {
			cmd.Run, cmd.RunE = nil, knownHelp
		}
	}
	return root
}

// knownHelp shows the help of the command that args name, and refuses what is none.
func knownHelp(cmd *cobra.Command, args []string) error {
	root := cmd.Root()
	found, rest, err := root.Find(args)
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return knownCommand(found, rest)
	}
	found.InitDefaultHelpFlag()
	found.InitDefaultVersionFlag()
	return found.Help()
}

// knownFlag says which flags a mistyped one may have been meant for.
func knownFlag(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) || unknown.GetSpecifiedShortnames() != "" {
		return err
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return fmt.Errorf("%w%s", err, meant(unknown.GetSpecifiedName(), names, func(name string) string { return "--" + name }))
}

// markRuns makes the errors of cmd and all below it, once they run, known as their own.
func markRuns(cmd *cobra.Command) {
	if run := cmd.RunE; run != nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			if err := run(cmd, args); err != nil {
				return &ranError{err}
			}
			return nil
		}
	}
	for _, sub := range cmd.Commands() {
		markRuns(sub)
	}
}

// group makes a command that only holds others.
func group(use, short string, subs ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Args: knownCommand, RunE: nothing, SuggestionsMinimumDistance: 2}
	cmd.AddCommand(subs...)
	return cmd
}

// knownCommand refuses what follows a group: were it the name of a command, it would not have come here.
func knownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("a command is missing after %q", cmd.CommandPath())
	}
	near := cmd.SuggestionsFor(args[0])
	if len(near) == 0 {
		return fmt.Errorf("unknown command %q after %q", args[0], cmd.CommandPath())
	}
	return fmt.Errorf("unknown command %q after %q; did you mean %s?", args[0], cmd.CommandPath(), strings.Join(near, " or "))
}

func nothing(*cobra.Command, []string) error { return nil }
