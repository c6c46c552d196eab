// Package scaffold has the command that writes the files of a new operator.
package scaffold

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/mod/modfile"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/buildinfo"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/flags"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/terminal"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/output"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/scaffold"
)

// NewCommand returns the command init.
func NewCommand() *cobra.Command {
	o := scaffold.Options{HostingVersion: release(buildinfo.Version())}
	cmd := &cobra.Command{
		Use:   "init DIR",
		Short: "Write a new operator with a webhook: program, tests, bundle, Dockerfile, Makefile and CI",
		Long: `Writes the files of a new operator into an empty or absent directory, or one that only has .git. The program is in Go,
and uses pkg/hosting. Its webhooks are examples: one denies pods without a label, one adds a label to pods, one converts
a kind with two versions.
The README.md of the directory has the next steps. The command needs no cluster.

Only the plugin of kubectl has this command.`,
		Example: `  kubectl webhooks init team-label --domain example.com --image registry.example.com/team-label:v0.1.0
  kubectl webhooks init samples --type conversion --type validating`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := complete(&o, args[0]); err != nil {
				return err
			}
			return write(terminal.Stdout(cmd), args[0], o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Name, "name", "", "name of the package, the program and the Deployment (default: the name of DIR)")
	f.StringVar(&o.Domain, "domain", "example.com", "DNS domain of yours, in which the names of webhooks and of the API group end")
	f.StringVar(&o.Module, "module", "", "path of the Go module (default: DOMAIN/NAME)")
	f.StringVar(&o.Image, "image", "", "image of the program (default: registry.DOMAIN/NAME:v0.1.0)")
	f.StringSliceVar(&o.Types, "type", []string{scaffold.Validating}, "types of webhooks, of "+strings.Join(scaffold.Types, ", "))
	f.StringVar(&o.HostingVersion, "hosting-version", o.HostingVersion, "version of pkg/hosting, such as v0.1.0 (default: the version of this program)")
	f.StringVar(&o.HostingDir, "hosting-dir", "", "directory of pkg/hosting in a clone, to be used instead of a released version")
	flags.Complete(cmd, "type", scaffold.Types...)
	return cmd
}

// tags are the versions that are tagged, for pkg/hosting too.
var tags = regexp.MustCompile(`^v\d+\.\d+\.\d+(-(alpha|beta|rc)\.\d+)?$`)

// release returns a version if it is that of a release, and not of a commit.
func release(version string) string {
	if tags.MatchString(version) {
		return version
	}
	return ""
}

func complete(o *scaffold.Options, dir string) error {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if o.Name == "" {
		o.Name = filepath.Base(absolute)
	}
	if o.Module == "" {
		o.Module = o.Domain + "/" + o.Name
	}
	if o.Image == "" {
		o.Image = fmt.Sprintf("registry.%s/%s:v0.1.0", o.Domain, o.Name)
	}
	if o.HostingDir != "" {
		if o.HostingDir, err = filepath.Abs(o.HostingDir); err != nil {
			return err
		}
		if err := isHosting(o.HostingDir); err != nil {
			return err
		}
		o.HostingVersion = "v0.0.0"
	}
	return o.Validate()
}

func isHosting(dir string) error {
	text, err := os.ReadFile(filepath.Join(dir, "go.mod")) //nolint:gosec // The user names the directory.
	if err != nil {
		return fmt.Errorf("--hosting-dir: name the directory pkg/hosting of a clone: %w", err)
	}
	if name := modfile.ModulePath(text); name != scaffold.HostingModule {
		return fmt.Errorf("--hosting-dir: %s has the Go module %q: name the directory pkg/hosting of a clone", dir, name)
	}
	return nil
}

// write writes all files, or none.
func write(out output.Writer, dir string, o scaffold.Options) error {
	entries, err := os.ReadDir(dir)
	if of := slices.DeleteFunc(entries, isRepository); len(of) > 0 {
		return fmt.Errorf("%s is not empty: it has %s. Name a new directory, or one that only has %s, so that no file of yours is replaced", dir, of[0].Name(), repository)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	existed := err == nil
	files, err := scaffold.Files(o)
	if err != nil {
		return err
	}
	for _, name := range scaffold.Paths(files) {
		if err := writeFile(filepath.Join(dir, filepath.FromSlash(name)), files[name]); err != nil {
			return errors.Join(err, remove(dir, existed))
		}
	}
	for _, name := range scaffold.Paths(files) {
		out.Printf("%s\n", filepath.Join(dir, filepath.FromSlash(name)))
	}
	note, err := workspaceNote(dir)
	if err != nil {
		return err
	}
	if note != "" {
		out.Printf("\nNote: %s\n", note)
	}
	out.Printf("\nNext: cd %s && go mod tidy && make test. See README.md there.\n", output.ShellWord(dir))
	return nil
}

// repository is the entry of a directory in which "git init" ran, or "git worktree add".
const repository = ".git"

func isRepository(entry os.DirEntry) bool { return entry.Name() == repository }

func writeFile(file, text string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil { //nolint:gosec // Sources of an author, as an editor writes them.
		return err
	}
	return os.WriteFile(file, []byte(text), 0o644) //nolint:gosec // The same.
}

// remove removes what was written. The directory of the user had no other files, and stays.
func remove(dir string, existed bool) error {
	entries, err := os.ReadDir(dir)
	for _, entry := range slices.DeleteFunc(entries, isRepository) {
		err = errors.Join(err, os.RemoveAll(filepath.Join(dir, entry.Name())))
	}
	if !existed {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	return err
}
