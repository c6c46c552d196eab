package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// writePrograms also writes one bill of materials for each program, which covers all of its platforms.
func (r *release) writePrograms(ctx context.Context) error {
	license, err := os.ReadFile(filepath.Join(r.root, "LICENSE"))
	if err != nil {
		return err
	}
	for _, program := range []string{managerOf, pluginOf} {
		built := make([]string, 0, len(platforms))
		for _, p := range platforms {
			executable, err := r.build(ctx, program, p)
			if err != nil {
				return err
			}
			if err := r.pack(executable, program, p, license); err != nil {
				return err
			}
			built = append(built, executable)
		}
		if err := r.writeBill(program, built); err != nil {
			return err
		}
	}
	return nil
}

// built is where a program is between the steps of one release.
func (r *release) built(program string, p platform) string {
	return filepath.Join(r.root, "out", "release-build", p.String(), p.executable(program))
}

// build does not let the environment of the caller decide about the program.
func (r *release) build(ctx context.Context, program string, p platform) (string, error) {
	executable := r.built(program, p)
	fmt.Fprintf(os.Stderr, "build %s for %s\n", program, p)
	command := exec.CommandContext(ctx, filepath.Join(r.root, "hack", "build.sh"), executable, "./cmd/"+program) //nolint:gosec // G204: the arguments are ours
	command.Dir = r.root
	command.Env = append(os.Environ(),
		"GOOS="+p.os, "GOARCH="+p.arch, "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=-buildvcs=false", "GOEXPERIMENT=", "GOFIPS140=off",
		"VERSION="+r.version, "COMMIT="+r.commit)
	_, err := output(command)
	return executable, err
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
