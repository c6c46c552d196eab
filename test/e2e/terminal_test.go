package e2e

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/programs"
)

var update = flag.Bool("update", false, "write what the commands print now into testdata")

func plugin() (string, error) {
	path, err := programs.Path("kubectl-webhooks")
	return filepath.Dir(path), err
}

// terminal is where an administrator types commands, and keeps what they print.
type terminal struct {
	*env
	transcript strings.Builder
}

// webhooks runs kubectl webhooks from the root of the checkout, answers its questions, and
// returns what it printed and its exit code.
func (t *terminal) webhooks(typed string, arguments ...string) (said string, exit int) {
	t.Helper()
	var output bytes.Buffer
	cmd := t.command(t.ctx, arguments...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(typed), &output, &output
	err := cmd.Run()
	if ended := (&exec.ExitError{}); err != nil && !errors.As(err, &ended) {
		t.Fatal(err)
	}
	said, exit = output.String(), cmd.ProcessState.ExitCode()
	for answer := range strings.Lines(typed) {
		said = strings.Replace(said, "[y/N] ", "[y/N]: "+answer, 1)
	}
	fmt.Fprintf(&t.transcript, "$ kubectl webhooks %s\n%s", strings.Join(arguments, " "), said)
	if exit != 0 {
		fmt.Fprintf(&t.transcript, "exit code %d\n", exit)
	}
	t.transcript.WriteString("\n")
	return said, exit
}

func (t *terminal) works(typed string, arguments ...string) string {
	t.Helper()
	said, exit := t.webhooks(typed, arguments...)
	if exit != 0 {
		t.Fatalf("kubectl webhooks %s: exit code %d\n%s", strings.Join(arguments, " "), exit, said)
	}
	return said
}

func (t *terminal) fails(code int, why []string, arguments ...string) {
	t.Helper()
	said, exit := t.webhooks("", arguments...)
	if exit != code {
		t.Errorf("kubectl webhooks %s: exit code %d, want %d\n%s", strings.Join(arguments, " "), exit, code, said)
	}
	installtest.Contains(t, said, why...)
}

func (t *terminal) command(ctx context.Context, arguments ...string) *exec.Cmd {
	t.Helper()
	cmd, err := webhooksCommand(ctx, arguments...)
	t.must(err)
	return cmd
}

func webhooksCommand(ctx context.Context, arguments ...string) (*exec.Cmd, error) {
	folder, err := plugin()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "kubectl", append([]string{"webhooks"}, arguments...)...)
	cmd.Dir, cmd.Env = "../..", append(os.Environ(), "PATH="+folder+":"+os.Getenv("PATH"))
	return cmd, nil
}

type running struct {
	*terminal
	cmd   *exec.Cmd
	mutex sync.Mutex
	said  bytes.Buffer
}

func (t *terminal) start(arguments ...string) *running {
	t.Helper()
	r := &running{terminal: t, cmd: t.command(t.ctx, arguments...)}
	r.cmd.Stdout, r.cmd.Stderr = r, r
	t.must(r.cmd.Start())
	return r
}

func (r *running) Write(text []byte) (int, error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.said.Write(text)
}

func (r *running) output() string {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.said.String()
}

func (r *running) says(text string) {
	r.Helper()
	kube.Within(r.env, 30*time.Second, "the command reports "+text, func() (bool, any) {
		said := r.output()
		return strings.Contains(said, text), said
	})
}

func (r *running) interrupt() (said string, exit int) {
	r.Helper()
	r.must(r.cmd.Process.Signal(syscall.SIGINT))
	return r.end()
}

func (r *running) end() (said string, exit int) {
	r.Helper()
	if err, ended := r.cmd.Wait(), (&exec.ExitError{}); err != nil && !errors.As(err, &ended) {
		r.Fatal(err)
	}
	return r.said.String(), r.cmd.ProcessState.ExitCode()
}

func (t *terminal) golden(name string) {
	t.Helper()
	file := filepath.Join("testdata", name+".txt")
	said := masked(t.transcript.String())
	if *update {
		t.must(os.WriteFile(file, []byte(said), 0o600))
		return
	}
	kept, err := os.ReadFile(file)
	t.must(err)
	if diff := cmp.Diff(string(kept), said); diff != "" {
		t.Errorf("%s (-kept +printed; -update keeps what is printed)\n%s", file, diff)
	}
}

var (
	elapsed     = regexp.MustCompile(`^ *\d+\.\ds  `)
	state       = regexp.MustCompile(`^   T\.Ts  (((Deployment|webhook) )?\S+ is [A-Z]|certificate of )`)
	date        = regexp.MustCompile(`\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\dZ)?`)
	fingerprint = regexp.MustCompile(`\b[0-9a-f]{12}\b`)
	age         = regexp.MustCompile(`\b\d+[sm](\d+s)? +`)
)

// masked is a transcript without what depends on the clock, on keys that are drawn, and on
// how often the command reads: of the states that an object passes through, it keeps the last ones.
func masked(transcript string) string {
	var kept, recent []string
	for line := range strings.Lines(transcript) {
		timed := elapsed.MatchString(line)
		line = date.ReplaceAllString(elapsed.ReplaceAllString(line, "   T.Ts  "), "DATE")
		line = fingerprint.ReplaceAllString(line, "FINGERPRINT")
		if strings.Contains(line, "   Registered   ") {
			line = age.ReplaceAllStringFunc(line, func(a string) string { return fmt.Sprintf("%-*s", len(a), "AGE") })
		}
		if timed {
			recent = append(recent, line)
			continue
		}
		kept, recent = append(append(kept, lasting(recent)...), line), nil
	}
	return strings.Join(append(kept, lasting(recent)...), "")
}

// lasting is what a command has reported without states that nothing stays in. Side by side, states
// are sorted; what the command did itself stays behind the ones that it followed.
func lasting(recent []string) []string {
	var kept, reached []string
	for i, line := range recent {
		switch {
		case strings.Contains(line, "  waiting for "):
		case !state.MatchString(line):
			slices.Sort(reached)
			kept, reached = append(append(kept, reached...), line), nil
		case settled(line) && !slices.Contains(recent[i+1:], line):
			reached = append(reached, line)
		}
	}
	slices.Sort(reached)
	return append(kept, reached...)
}

func settled(line string) bool {
	return slices.ContainsFunc([]string{" is Available", " is Registered", " is Succeeded", ": Stable"}, func(state string) bool { return strings.Contains(line, state) })
}
