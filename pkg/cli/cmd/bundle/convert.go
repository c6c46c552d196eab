package bundle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle/convert"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/exitcode"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/terminal"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/output"
)

func newConvertCommand() *cobra.Command {
	var o convert.Options
	var dir string
	cmd := &cobra.Command{
		Use:   "convert FILE|DIR|-...",
		Short: "Write a bundle from the manifests of an operator, as kustomize build and helm template print them",
		Long: `Reads the manifests of an operator, and writes a registry+v1 bundle into an empty or absent directory. Deployments,
permissions, webhook configurations and CustomResourceDefinitions become parts of a ClusterServiceVersion. Objects of other
kinds that a bundle may have become files. The objects of cert-manager and the Services of webhooks are left out: the
manager creates certificates and Services.

The argument - is the standard input. A directory is read with its subdirectories: files whose names end in .yaml, .yml or .json.

The command prints a finding for each part of the input that a bundle cannot express, or expresses in another way. It needs no
cluster. The exit code is 1 when a finding is an error: the bundle is written, and lacks a part of the operator.`,
		Example: `  kustomize build config/default | kubectl webhooks bundle convert --name memcached-operator --version 0.1.0 -o ./bundle -
  helm template shop ./chart --namespace shop-system --include-crds > all.yaml
  kubectl webhooks bundle convert all.yaml --name shop-operator --version 1.2.0 -o ./bundle`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := errors.Join(o.Validate(), checkAbsent(dir)); err != nil {
				return err
			}
			files, err := readAll(cmd, args)
			if err != nil {
				return err
			}
			return convertTo(terminal.Stdout(cmd), cmd.Parent().CommandPath(), dir, files, o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Name, "name", "", "name of the package (required)")
	f.StringVar(&o.Version, "version", "", "semantic version of the operator, such as 0.1.0 (required)")
	f.StringVar(&o.Channel, "channel", "stable", "channel in which the bundle is published")
	f.StringVarP(&dir, "output-dir", "o", "bundle", "directory of the bundle, which is empty or absent")
	return cmd
}

func convertTo(out output.Writer, commands, dir string, files map[string][]byte, o convert.Options) error {
	objects, read, err := convert.Read(files)
	if err != nil {
		return err
	}
	result, err := convert.Convert(objects, o)
	if err != nil {
		return err
	}
	if err := writeFiles(dir, result.Files); err != nil {
		return err
	}
	result.Add(read)
	for _, f := range result.Findings {
		f.Print(out)
	}
	out.Printf("%s: %s written; %s\n", dir, output.Counted(len(result.Files), "file"), result.Summary())
	out.Printf("Next: %s validate %s\n", commands, output.ShellWord(dir))
	if n := result.Count(convert.Error); n > 0 {
		return fmt.Errorf("%s lacks parts of the operator: %s above", dir, output.Counted(n, "error"))
	}
	return nil
}

// checkAbsent returns an error if a directory has files.
func checkAbsent(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("-o %s: %w", dir, err)
	case len(entries) > 0:
		return fmt.Errorf("-o %s: the directory is not empty: name a new directory, so that no file is replaced", dir)
	default:
		return nil
	}
}

// writeFiles writes all files, or none.
func writeFiles(dir string, files map[string]string) error {
	_, err := os.Stat(dir)
	existed := err == nil
	for name, text := range files {
		if err := writeFile(filepath.Join(dir, filepath.FromSlash(name)), text); err != nil {
			return errors.Join(err, removeFiles(dir, existed))
		}
	}
	return nil
}

func writeFile(file, text string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil { //nolint:gosec // Sources of an author, as an editor writes them.
		return err
	}
	return os.WriteFile(file, []byte(text), 0o644) //nolint:gosec // The same.
}

// removeFiles removes what was written into a directory that was empty or absent.
func removeFiles(dir string, existed bool) error {
	if !existed {
		return os.RemoveAll(dir)
	}
	return errors.Join(os.RemoveAll(filepath.Join(dir, "manifests")), os.RemoveAll(filepath.Join(dir, "metadata")))
}

const standardInput = "-"

// readAll reads files, directories and the standard input, up to the size of a bundle.
func readAll(cmd *cobra.Command, names []string) (map[string][]byte, error) {
	files, left := map[string][]byte{}, int64(bundle.MaxSize)
	add := func(name string, open func() (io.ReadCloser, error)) error {
		if _, known := files[name]; known {
			return fmt.Errorf("%s is named twice: name each file once", name)
		}
		from, err := open()
		if err != nil {
			return err
		}
		defer from.Close()
		text, err := readContext(cmd.Context(), io.LimitReader(from, left+1))
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if left -= int64(len(text)); left < 0 {
			return fmt.Errorf("%s: the input has more than %d MiB: leave out the objects that do not belong to the operator", name, bundle.MaxSize>>20)
		}
		files[name] = text
		return nil
	}
	for _, name := range names {
		if name == standardInput {
			if err := add(name, func() (io.ReadCloser, error) { return io.NopCloser(cmd.InOrStdin()), nil }); err != nil {
				return nil, err
			}
			continue
		}
		if err := eachManifest(name, func(file string) error {
			return add(file, func() (io.ReadCloser, error) { return os.Open(file) }) //nolint:gosec // The user names the file.
		}); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// readContext ends with the context, also while the standard input is silent.
func readContext(ctx context.Context, from io.Reader) ([]byte, error) {
	type content struct {
		text []byte
		err  error
	}
	read := make(chan content, 1)
	go func() {
		text, err := io.ReadAll(from)
		read <- content{text, err}
	}()
	select {
	case c := <-read:
		return c.text, c.err
	case <-ctx.Done():
		return nil, exitcode.With(exitcode.Interrupted, errors.New("interrupted before anything was written"))
	}
}

// sources are files of directories that have templates instead of manifests, with the command that resolves them.
var sources = map[string]string{"Chart.yaml": "helm template", "kustomization.yaml": "kustomize build", "kustomization.yml": "kustomize build", "Kustomization": "kustomize build"}

// eachManifest calls a function for a file, or for the files of a directory.
func eachManifest(name string, do func(file string) error) error {
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return do(name) // It may be a pipe: the shell passes one for <(command).
	}
	found := false
	err = filepath.WalkDir(name, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		if resolve := sources[filepath.Base(file)]; resolve != "" {
			return fmt.Errorf("%s: the directory has sources of manifests, and the command reads rendered manifests: run %s %s, and pass the output", file, resolve, output.ShellWord(filepath.Dir(file)))
		}
		if !slices.Contains([]string{".yaml", ".yml", ".json"}, strings.ToLower(filepath.Ext(file))) {
			return nil
		}
		if !entry.Type().IsRegular() {
			return fmt.Errorf("%s is no regular file: name it as an argument, or remove it from the directory", file)
		}
		found = true
		return do(file)
	})
	if err == nil && !found {
		return fmt.Errorf("%s has no file whose name ends in .yaml, .yml or .json: name the directory that has the manifests", name)
	}
	return err
}
