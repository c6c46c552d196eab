package binaries

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// build is one run of go build, which prints its progress.
type build struct {
	program  program
	module   string
	modFile  string
	title    string
	start    time.Time
	progress io.Writer

	mu          sync.Mutex
	downloaded  int
	compiled    int
	diagnostics []string
}

const reportEvery = 15 * time.Second

func (b *build) run(ctx context.Context, out string) error {
	b.say(b.program.holds)
	args := append([]string{"build", "-v", "-buildvcs=false", "-modfile=" + b.modFile, "-o", out}, b.program.args...)
	cmd := exec.CommandContext(ctx, "go", append(args, b.program.pkg)...)
	cmd.Dir = b.module
	// Static, so that a program runs in a container without libraries too.
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	output, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("build %s: %w", b.program.name, err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		b.read(output)
	}()
	b.reportUntil(read)
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("go build %s in %s: %w\n%s", b.program.pkg, b.module, err, strings.Join(b.diagnostics, "\n"))
	}
	return nil
}

// read sorts the lines of go build -v: downloads, import paths of compiled packages, and errors.
func (b *build) read(output io.Reader) {
	for lines := bufio.NewScanner(output); lines.Scan(); {
		line := lines.Text()
		b.mu.Lock()
		switch {
		case strings.HasPrefix(line, "go: downloading "):
			b.downloaded++
		case !strings.Contains(line, " "):
			b.compiled++
		default:
			b.diagnostics = append(b.diagnostics, line)
		}
		b.mu.Unlock()
	}
}

func (b *build) reportUntil(done <-chan struct{}) {
	ticker := time.NewTicker(reportEvery)
	defer ticker.Stop()
	for {
		select {
		case <-done:
			return
		case <-ticker.C:
			b.mu.Lock()
			b.say(fmt.Sprintf("%d modules downloaded, %d packages compiled so far", b.downloaded, b.compiled))
			b.mu.Unlock()
		}
	}
}

func (b *build) say(what string) {
	fmt.Fprintf(b.progress, "%6s  %s: %s\n", time.Since(b.start).Round(time.Second), b.title, what)
}
