package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"golang.org/x/mod/semver"
)

const (
	repository = "https://github.com/olm-webhook-manager/olm-webhook-manager"
	managerOf  = "olm-webhook-manager"
	pluginOf   = "kubectl-webhooks"
	imageOf    = "docker.io/olm-webhook-manager/"
)

// tags are the versions that kubectl webhooks init knows as released (pkg/cli/cmd/scaffold).
var tags = regexp.MustCompile(`^v\d+\.\d+\.\d+(-(alpha|beta|rc)\.\d+)?$`)

// tree is the source of a release: what is checked out.
type tree struct {
	root   string
	commit string
	time   time.Time // of the commit
}

// release is one version, and the directory of its files.
type release struct {
	tree
	version string // v0.1.0
	out     string
	notes   string
	discard bool    // the build caches of other platforms
	manager image   // of the manager
	images  []image // all
}

func newRelease(t tree, version, out string) (*release, error) {
	switch {
	case semver.Canonical(version) != version || !tags.MatchString(version):
		return nil, fmt.Errorf("-version is %q, want vMAJOR.MINOR.PATCH, such as v0.1.0, or vMAJOR.MINOR.PATCH-rc.N, also with alpha or beta", version)
	case out == "":
		return nil, errors.New("-out is empty: name the directory to write")
	}
	changelog, err := os.ReadFile(filepath.Join(t.root, "CHANGELOG.md"))
	if err != nil {
		return nil, err
	}
	notes, err := notesOf(string(changelog), version)
	if err != nil {
		return nil, err
	}
	if _, err := os.Lstat(out); err == nil {
		return nil, fmt.Errorf("%s exists: remove it, or name another directory", out)
	}
	absolute, err := filepath.Abs(out)
	return &release{tree: t, version: version, out: absolute, notes: notes}, err
}

// write leaves no directory behind that lacks a file: it renames the complete one.
func (r *release) write(ctx context.Context, key string) error {
	final := r.out
	if err := os.MkdirAll(filepath.Dir(final), 0o755); err != nil { //nolint:gosec // G301: files to publish
		return err
	}
	partial, err := os.MkdirTemp(filepath.Dir(final), ".release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(partial)
	r.out = partial
	for _, step := range []func(context.Context) error{
		r.buildPrograms, r.writePrograms, r.writeImages, r.writeManifests, r.writeBundle, r.writeChart, r.writeKrew, r.writeExample, r.writeNotes, r.writeProvenance, r.writeChecksums,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	if key != "" {
		if err := r.sign(ctx, key); err != nil {
			return err
		}
	}
	if err := os.Chmod(partial, 0o755); err != nil { //nolint:gosec // G302: files to publish
		return err
	}
	return os.Rename(partial, final)
}

func (r *release) path(name string) string { return filepath.Join(r.out, name) }

func (r *release) store(name string, content []byte) error {
	return os.WriteFile(r.path(name), content, 0o644) //nolint:gosec // G306: files to publish
}
