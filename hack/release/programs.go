package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
)

// program is a command of a module of the repository.
type program struct {
	name    string // also of the executable
	module  string // directory
	command string // directory in the module
}

// programsOf returns what is built for a platform.
func programsOf(p platform) []program {
	programs := []program{{managerOf, ".", "./cmd/" + managerOf}, {pluginOf, ".", "./cmd/" + pluginOf}}
	if slices.Contains(nodePlatforms, p) {
		programs = append(programs, program{exampleProgram, "examples", "./" + exampleProgram})
	}
	return programs
}

// buildPrograms builds one platform after the other: its programs share most packages.
func (r *release) buildPrograms(ctx context.Context) error {
	for _, p := range platforms {
		if err := r.buildFor(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

func (r *release) buildFor(ctx context.Context, p platform) error {
	cache := os.Getenv("GOCACHE")
	if r.discard && p != (platform{runtime.GOOS, runtime.GOARCH}) {
		temporary, err := os.MkdirTemp("", "release-cache-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(temporary)
		cache = temporary
	}
	for _, program := range programsOf(p) {
		if err := r.build(ctx, program, p, cache); err != nil {
			return err
		}
	}
	return nil
}

// writePrograms also writes one bill of materials for each program, which covers all of its platforms.
func (r *release) writePrograms(context.Context) error {
	license, err := os.ReadFile(filepath.Join(r.root, "LICENSE"))
	if err != nil {
		return err
	}
	for _, name := range []string{managerOf, pluginOf} {
		built := r.builtFor(name, platforms)
		for i, p := range platforms {
			if err := r.pack(built[i], name, p, license); err != nil {
				return err
			}
		}
		if err := r.writeBill(name, built); err != nil {
			return err
		}
	}
	return nil
}

// builtFor returns an executable for each platform.
func (r *release) builtFor(program string, platforms []platform) []string {
	built := make([]string, 0, len(platforms))
	for _, p := range platforms {
		built = append(built, r.built(program, p))
	}
	return built
}

// built is where a program is between the steps of one release.
func (r *release) built(program string, p platform) string {
	return filepath.Join(r.root, "out", "release-build", p.String(), p.executable(program))
}

// build does not let the environment of the caller decide about the program.
func (r *release) build(ctx context.Context, program program, p platform, cache string) error {
	fmt.Fprintf(os.Stderr, "build %s for %s\n", program.name, p)
	command := exec.CommandContext(ctx, filepath.Join(r.root, "hack", "build.sh"), r.built(program.name, p), program.command) //nolint:gosec // G204: the arguments are ours
	command.Dir = filepath.Join(r.root, program.module)
	command.Env = append(os.Environ(),
		"GOOS="+p.os, "GOARCH="+p.arch, "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=-buildvcs=false", "GOEXPERIMENT=", "GOFIPS140=off",
		"VERSION="+r.version, "COMMIT="+r.commit, "GOCACHE="+cache)
	_, err := output(command)
	return err
}

func (r *release) pack(executable, program string, p platform, license []byte) error {
	content, err := os.ReadFile(executable) //nolint:gosec // G304: built above
	if err != nil {
		return err
	}
	name := p.archive(program, r.version)
	archive, err := pack(name, []file{{p.executable(program), 0o755, content}, {"LICENSE", 0o644, license}}, r.time)
	if err != nil {
		return err
	}
	return r.store(name, archive)
}
