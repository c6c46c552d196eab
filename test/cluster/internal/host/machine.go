package host

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// systemPath has runc, nft and ip. The paths of some shells lack it.
const systemPath = "/usr/local/sbin:/usr/sbin:/sbin"

// preflight returns nil if a cluster can run here. It installs what is missing if it is asked to.
func preflight(ctx context.Context, install bool, say func(string, ...any)) error {
	m := thisMachine()
	if err := lacksPrivilege(m); err != nil {
		return err
	}
	packages := missingPackages(m)
	if len(packages) == 0 {
		return nil
	}
	if !install || !m.has("apt-get") {
		return describeMissing(packages)
	}
	say("installing %s with apt-get", strings.Join(packages, ", "))
	if err := aptInstall(ctx, packages); err != nil {
		return fmt.Errorf("%w\n%w", err, describeMissing(packages))
	}
	if still := missingPackages(m); len(still) > 0 {
		return describeMissing(still)
	}
	return nil
}

func thisMachine() machine {
	os.Setenv("PATH", os.Getenv("PATH")+":"+systemPath)
	status, _ := os.ReadFile("/proc/self/status") // without it, no capability is taken for granted
	return machine{
		uid:    os.Geteuid(),
		status: string(status),
		has: func(program string) bool {
			_, err := exec.LookPath(program)
			return err == nil
		},
		exists: func(path string) bool {
			_, err := os.Stat(path)
			return err == nil
		},
	}
}

// aptInstall shows what apt reports only if it fails.
func aptInstall(ctx context.Context, packages []string) error {
	for _, arguments := range [][]string{
		{"update", "--quiet"}, // a fresh machine may know of no package at all
		append([]string{"install", "--quiet", "--yes", "--no-install-recommends"}, packages...),
	} {
		cmd := exec.CommandContext(ctx, "apt-get", arguments...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if output, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("apt-get %s: %w\n%s", strings.Join(arguments, " "), err, output)
		}
	}
	return nil
}
