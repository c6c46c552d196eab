package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// checkedOut refuses changes that are not committed: a release with them could not be built again.
func checkedOut(ctx context.Context) (tree, error) {
	root, err := git(ctx, ".", "rev-parse", "--show-toplevel")
	if err != nil {
		return tree{}, err
	}
	changes, err := git(ctx, root, "status", "--porcelain")
	if err != nil {
		return tree{}, err
	}
	if changes != "" {
		return tree{}, fmt.Errorf("the working tree has changes that are not committed. Commit or stash them first:\n%s", changes)
	}
	last, err := git(ctx, root, "show", "--no-patch", "--format=%H %ct", "HEAD")
	if err != nil {
		return tree{}, err
	}
	commit, seconds, _ := strings.Cut(last, " ")
	unix, err := strconv.ParseInt(seconds, 10, 64)
	return tree{root: root, commit: commit, time: time.Unix(unix, 0).UTC()}, err
}

func git(ctx context.Context, dir string, arguments ...string) (string, error) {
	return output(exec.CommandContext(ctx, "git", append([]string{"-C", dir}, arguments...)...)) //nolint:gosec // G204: the arguments are ours
}

// output returns what a command prints. Its error has what the command printed as an error.
func output(command *exec.Cmd) (string, error) {
	printed, err := command.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(command.Args, " "), err, exit.Stderr)
	}
	return strings.TrimSpace(string(printed)), err
}
