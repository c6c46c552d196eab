package release

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"
)

// shell is the shell of a user. Each command is a process of its own, which begins with the variables and the
// directory that the previous one ended with.
type shell struct {
	*testing.T
	release *release
	dir     string
	env     []string
	state   string // directory in which a process writes its variables and its directory
}

// newShell returns a shell with an empty home directory and few variables. Programs are those of the cluster and of
// this machine.
func newShell(t *testing.T, r *release, c *cluster, variables ...string) *shell {
	t.Helper()
	home := t.TempDir()
	must(t, os.WriteFile(filepath.Join(home, ".curlrc"), []byte("silent\nshow-error\n"), 0o600)) // The log of the test needs no progress.
	s := &shell{T: t, release: r, dir: home, state: t.TempDir()}
	s.env = append([]string{
		"HOME=" + home, "PATH=" + c.programs + ":" + os.Getenv("PATH"), "KUBECONFIG=" + c.kubeconfig, "LANG=C.UTF-8", "STATE=" + s.state,
	}, variables...)
	return s
}

// follow runs commands of the documentation, and checks what their comments promise: "is denied", or "prints TEXT".
func (s *shell) follow(commands []command) {
	s.Helper()
	for _, c := range commands {
		switch text, prints := strings.CutPrefix(c.promise, "prints "); {
		case c.promise == "is denied":
			s.denies(c.text)
		case prints:
			s.prints(text, c.text)
		default:
			s.run(c.text)
		}
	}
}

func (s *shell) run(command string) string {
	s.Helper()
	output, err := s.try(command)
	if err != nil {
		s.Fatalf("$ %s\n%s%v", command, output, err)
	}
	s.Logf("$ %s\n%s", command, shortened(output))
	return output
}

// denies waits, since an API server observes a new webhook with a delay, and so does a webhook a new object.
func (s *shell) denies(command string) {
	s.Helper()
	s.eventually(command, "is denied by the webhook", func(output string, err error) bool {
		return err != nil && strings.Contains(output, "denied the request")
	})
}

func (s *shell) prints(text, command string) {
	s.Helper()
	s.eventually(command, "prints "+text, func(output string, err error) bool { return err == nil && strings.Contains(output, text) })
}

func (s *shell) eventually(command, what string, holds func(output string, err error) bool) {
	s.Helper()
	var output string
	var err error
	condition := func() bool {
		output, err = s.try(command)
		return holds(output, err)
	}
	if !poll(s.T, time.Minute, condition) {
		s.Fatalf("not within a minute: $ %s %s. Last output:\n%s%v", command, what, output, err)
	}
	s.Logf("$ %s\n%s", command, shortened(output))
}

// try answers every question with yes.
func (s *shell) try(command string) (string, error) {
	s.Helper()
	const script = "set -a\n%\nstatus=$?\nenv -0 >\"$STATE/env\" && pwd >\"$STATE/dir\"\nexit $status"
	process := exec.CommandContext(s.Context(), "bash", "-o", "pipefail", "-c", strings.Replace(script, "%", s.substituted(command), 1))
	process.Dir, process.Env = s.dir, s.env
	process.Stdin = strings.NewReader(strings.Repeat("y\n", 10))
	output, err := process.CombinedOutput()
	s.dir = strings.TrimSpace(s.read("dir"))
	s.env = strings.Split(strings.TrimRight(s.read("env"), "\x00"), "\x00")
	return string(output), err
}

func (s *shell) read(name string) string {
	s.Helper()
	content, err := os.ReadFile(filepath.Join(s.state, name))
	if err != nil {
		s.Fatal(err)
	}
	return string(content)
}

var (
	versionVariable  = regexp.MustCompile(`^VERSION=\S+`)
	platformVariable = regexp.MustCompile(`^PLATFORM=\S+`)
	pluginOfLinux    = "_linux_amd64.tar.gz"
)

// substituted returns a command for this release, for this machine, and with the files that the test serves.
func (s *shell) substituted(command string) string {
	platform := runtime.GOOS + "_" + runtime.GOARCH
	command = versionVariable.ReplaceAllString(command, "VERSION="+s.release.version)
	command = platformVariable.ReplaceAllString(command, "PLATFORM="+platform)
	command = strings.ReplaceAll(command, pluginOfLinux, "_"+platform+".tar.gz")
	return strings.ReplaceAll(command, "https://github.com/", s.release.server.URL+"/")
}

// shortened leaves out the middle of a long output.
func shortened(output string) string {
	const most = 4000
	if text := bytes.TrimSpace([]byte(output)); len(text) > most {
		return string(text[:most/2]) + "\n[…]\n" + string(text[len(text)-most/2:])
	}
	return output
}
