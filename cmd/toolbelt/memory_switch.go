package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"
)

func newMemorySwitchCommand(p Process, word string, on bool) *cobra.Command {
	what := "Let the daemon remember again"
	long := "Write memory: on to the configuration file."
	if !on {
		what = "Have the daemon read and write nothing, and show every tool"
		long = `Write memory: off to the configuration file: the daemon then reads and writes nothing and shows every tool. Nothing is erased ("toolbelt memory
erase --all" does that).`
	}
	cmd := &cobra.Command{
		Use:     word,
		Short:   what,
		Long:    long + "\nThe daemon sees it when it starts again. The file's other lines and comments stay.",
		Example: "  toolbelt memory " + word,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, from, err := loadConfig(cmd, p)
			if err != nil {
				return err
			}
			path := from.File
			if path == "" {
				if path, err = ownConfigFile(p); err != nil {
					return err
				}
			}
			if err := setInFile(path, "memory", word); err != nil {
				return err
			}
			fmt.Fprintf(p.Stdout, "wrote memory: %s to %s; restart the daemon\n", word, path)
			if o := from.Origins["memory"]; o.Name == "TOOLBELT_MEMORY" {
				fmt.Fprintf(p.Stderr, "toolbelt: warning: %s is stronger than the file: change it too\n", o)
			}
			return nil
		},
	}
	cmd.Flags().String("config", "", "configuration `file` to change")
	return cmd
}

// ownConfigFile is where a configuration file is made that is not there yet.
func ownConfigFile(p Process) (string, error) {
	base := valueOf(p.Environ, "XDG_CONFIG_HOME")
	if !filepath.IsAbs(base) {
		home := valueOf(p.Environ, "HOME")
		if !filepath.IsAbs(home) {
			return "", errors.New("no place for a configuration file is known, as where HOME is not set: name one with --config")
		}
		base = filepath.Join(home, ".config")
	}
	return filepath.Join(base, "toolbelt", "toolbelt.yaml"), nil
}

// setInFile sets one key of a YAML file, which is made where it is missing, and leaves all else as it is. The file is replaced as a
// whole, so that nobody reads half of it.
func setInFile(path, key, value string) error {
	doing := fmt.Sprintf("changing the configuration file %q", path)
	data, err := os.ReadFile(path)
	mode := fs.FileMode(0o600)
	switch info, statErr := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return fmt.Errorf("%s: %v", doing, err)
		}
	case err != nil:
		return fmt.Errorf("%s: %v", doing, err)
	case statErr == nil:
		mode = info.Mode().Perm()
	}
	changed, err := withKey(data, key, value)
	if err != nil {
		return fmt.Errorf("%s: %v", doing, err)
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".toolbelt-*.yaml")
	if err != nil {
		return fmt.Errorf("%s: %v", doing, err)
	}
	defer os.Remove(file.Name()) // does nothing once it is renamed
	_, err = file.Write(changed)
	if err = errors.Join(err, file.Chmod(mode), file.Sync(), file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("%s: %v", doing, err)
	}
	return nil
}

// withKey is a YAML mapping with one key set: its own line is changed, or one is added at the end.
func withKey(data []byte, key, value string) ([]byte, error) {
	var root yaml.Node
	if err := yaml.Unmarshal(data, &root); err != nil {
		return nil, err
	}
	line := []byte(key + ": " + value + "\n")
	if len(root.Content) > 0 && root.Content[0].Kind == yaml.MappingNode {
		top := root.Content[0]
		for i := 0; i+1 < len(top.Content); i += 2 {
			if top.Content[i].Value != key {
				continue
			}
			if top.Style == yaml.FlowStyle || top.Content[i].Column != 1 {
				return nil, fmt.Errorf("its setting %s is written in a way that is not changed here: write %q yourself", key, key+": "+value)
			}
			lines := bytes.SplitAfter(data, []byte("\n"))
			at := top.Content[i].Line - 1
			if comment := top.Content[i+1].LineComment; comment != "" {
				line = []byte(key + ": " + value + " " + comment + "\n")
			}
			return bytes.Join(append(append(append([][]byte{}, lines[:at]...), line), lines[at+1:]...), nil), nil
		}
		if top.Style == yaml.FlowStyle {
			return nil, fmt.Errorf("it is written in braces, which is not changed here: add %q yourself", key+": "+value)
		}
	}
	if n := len(data); n > 0 && data[n-1] != '\n' {
		data = append(data, '\n')
	}
	return append(data, line...), nil
}
