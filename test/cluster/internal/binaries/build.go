// Package binaries builds the programs of the cluster from Go modules, once, into a cache outside the tree.
package binaries

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// Set names the programs to build.
type Set int

const (
	// All is what a node runs.
	All Set = iota
	// Light is etcd, kube-apiserver and kubectl.
	Light
)

// Build builds the programs of the set that are not in the cache, for one of Versions, and returns their directory. It
// writes progress. Builds that run at the same time wait for one another.
func Build(ctx context.Context, kubernetes string, set Set, progress io.Writer) (string, error) {
	c, all, err := open(kubernetes)
	if err != nil {
		return "", err
	}
	return c.bin(), c.fill(ctx, wanted(all, set), progress)
}

// Find returns the directory that holds the programs of the set, for one of Versions. It fails if one is missing.
func Find(kubernetes string, set Set) (string, error) {
	c, all, err := open(kubernetes)
	if err != nil {
		return "", err
	}
	if missing := c.missing(wanted(all, set)); len(missing) > 0 {
		return "", fmt.Errorf("%s is not built in %s: run %s", missing[0].name, c.bin(), howToBuild(kubernetes))
	}
	return c.bin(), nil
}

func howToBuild(kubernetes string) string {
	if kubernetes == DefaultKubernetes {
		return "make programs"
	}
	return "cluster build --kubernetes " + kubernetes
}

// open returns the cache of one of Versions, and what it may hold.
func open(kubernetes string) (cache, []program, error) {
	dir, err := moduleDir()
	if err != nil {
		return cache{}, nil, err
	}
	mod, sum, err := modFile(kubernetes)
	if err != nil {
		return cache{}, nil, err
	}
	exact, containerd, err := requiredVersions(filepath.Join(dir, mod))
	if err != nil {
		return cache{}, nil, err
	}
	root, err := cacheRoot(os.Getenv)
	if err != nil {
		return cache{}, nil, err
	}
	all := programs(exact, containerd)
	name, err := key(dir, exact, []string{mod, sum}, all)
	if err != nil {
		return cache{}, nil, err
	}
	return cache{dir: filepath.Join(root, name), module: dir, modFile: mod, kubernetes: exact}, all, nil
}

// requiredVersions returns the exact versions that a file with requirements names.
func requiredVersions(file string) (kubernetes, containerd string, err error) {
	mod, err := os.ReadFile(file)
	if err != nil {
		return "", "", err
	}
	kubernetes, err = requiredVersion(string(mod), "k8s.io/kubernetes")
	if err != nil {
		return "", "", err
	}
	containerd, err = requiredVersion(string(mod), "github.com/containerd/containerd/v2")
	return kubernetes, containerd, err
}

func wanted(all []program, set Set) []program {
	return slices.DeleteFunc(all, func(p program) bool { return set == Light && !p.light })
}

// cache has one version of the binaries. A file that exists is complete: each appears by a rename.
type cache struct {
	dir        string
	module     string
	modFile    string // in module
	kubernetes string
}

func (c cache) bin() string {
	return filepath.Join(c.dir, "bin")
}

func (c cache) fill(ctx context.Context, programs []program, progress io.Writer) error {
	if len(c.missing(programs)) == 0 {
		return nil
	}
	if err := os.MkdirAll(c.bin(), 0o755); err != nil {
		return err
	}
	unlock, err := c.lock(progress)
	if err != nil {
		return err
	}
	defer unlock()
	missing := c.missing(programs) // another build may have ended while this one waited
	if len(missing) == 0 {
		return nil
	}
	fmt.Fprintf(progress, "Building Kubernetes %s from source, once, into %s\n", c.kubernetes, c.bin())
	fmt.Fprintf(progress, "The first build takes about 10 minutes on two cores, downloads included.\n")
	start := time.Now()
	for i, p := range missing {
		b := &build{program: p, module: c.module, modFile: c.modFile, title: fmt.Sprintf("[%d/%d] %s", i+1, len(missing), p.name), start: start, progress: progress}
		if err := c.add(ctx, b); err != nil {
			return err
		}
	}
	return nil
}

func (c cache) missing(programs []program) []program {
	return slices.DeleteFunc(slices.Clone(programs), c.has)
}

func (c cache) has(p program) bool {
	for _, name := range p.names() {
		if _, err := os.Stat(filepath.Join(c.bin(), name)); err != nil {
			return false
		}
	}
	return true
}

// add builds one program next to the bin directory and moves it in under all its names.
func (c cache) add(ctx context.Context, b *build) error {
	unfinished := filepath.Join(c.dir, "unfinished")
	defer os.Remove(unfinished)
	if err := b.run(ctx, unfinished); err != nil {
		return err
	}
	final := filepath.Join(c.bin(), b.program.name)
	if err := os.MkdirAll(filepath.Dir(final), 0o755); err != nil {
		return err
	}
	if err := os.Rename(unfinished, final); err != nil {
		return err
	}
	for _, link := range b.program.links {
		if err := os.Symlink(b.program.name, filepath.Join(c.bin(), link)); err != nil && !os.IsExist(err) {
			return err
		}
	}
	return nil
}

// lock excludes other builds. The kernel releases it when the process ends.
func (c cache) lock(progress io.Writer) (unlock func(), err error) {
	file, err := os.OpenFile(filepath.Join(c.dir, "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err == syscall.EWOULDBLOCK {
		fmt.Fprintf(progress, "Waiting for another build in %s to end.\n", c.dir)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		return nil, fmt.Errorf("lock %s: %w", file.Name(), err)
	}
	return func() { file.Close() }, nil
}
