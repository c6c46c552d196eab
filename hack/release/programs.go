package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// program is a command of a module of the repository.
type program struct {
	name    string // also of the executable
	module  string // directory
	command string // directory in the module
}

// writePrograms also writes one bill of materials for each program, which covers all of its platforms.
func (r *release) writePrograms(ctx context.Context) error {
	license, err := os.ReadFile(filepath.Join(r.root, "LICENSE"))
	if err != nil {
		return err
	}
	for _, name := range []string{managerOf, pluginOf} {
		built, err := r.buildFor(ctx, program{name, ".", "./cmd/" + name}, platforms)
		if err != nil {
			return err
		}
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

// buildFor returns an executable for each platform.
func (r *release) buildFor(ctx context.Context, p program, platforms []platform) ([]string, error) {
	built := make([]string, 0, len(platforms))
	for _, target := range platforms {
		if err := r.build(ctx, p, target); err != nil {
			return nil, err
		}
		built = append(built, r.built(p.name, target))
	}
	return built, nil
}

// built is where a program is between the steps of one release.
func (r *release) built(program string, p platform) string {
	return filepath.Join(r.root, "out", "release-build", p.String(), p.executable(program))
}

// build does not let the environment of the caller decide about the program.
func (r *release) build(ctx context.Context, program program, p platform) error {
	fmt.Fprintf(os.Stderr, "build %s for %s\n", program.name, p)
	command := exec.CommandContext(ctx, filepath.Join(r.root, "hack", "build.sh"), r.built(program.name, p), program.command) //nolint:gosec // G204: the arguments are ours
	command.Dir = filepath.Join(r.root, program.module)
	command.Env = append(os.Environ(),
		"GOOS="+p.os, "GOARCH="+p.arch, "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=-buildvcs=false", "GOEXPERIMENT=", "GOFIPS140=off",
		"VERSION="+r.version, "COMMIT="+r.commit)
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
