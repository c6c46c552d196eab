package programs

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
)

const reportEvery = 15 * time.Second

// Build builds missing programs, reports the progress of that, and removes those of earlier sources from the checkout.
// It returns the paths of the named programs. Without names it builds what make programs does, and returns no path.
func Build(ctx context.Context, progress io.Writer, names ...string) (paths []string, err error) {
	root, err := findRoot()
	if err != nil {
		return nil, err
	}
	selected, err := choose(names)
	if err != nil {
		return nil, err
	}
	for i, p := range selected {
		title := fmt.Sprintf("[%d/%d] %s", i+1, len(selected), p.name)
		if err := p.ensure(ctx, root, title, progress); err != nil {
			return nil, fmt.Errorf("build %s: %w", p.name, err)
		}
	}
	for _, name := range names {
		path, err := Path(name)
		if err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

func choose(names []string) (selected []program, err error) {
	if len(names) == 0 {
		return lists.Filter(all, func(p program) bool { return !p.named }), nil
	}
	for _, name := range names {
		p, err := find(name)
		if err != nil {
			return nil, err
		}
		selected = append(selected, p)
	}
	return selected, nil
}

// ensure returns when the program is built. Builds that run at the same time wait for one another.
func (p program) ensure(ctx context.Context, root, title string, progress io.Writer) error {
	dir, err := p.dir(root)
	if err != nil || p.built(dir) {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	unlock, err := lock(filepath.Dir(dir))
	if err != nil {
		return err
	}
	defer unlock()
	if p.built(dir) {
		return nil // by another process, meanwhile
	}
	if !p.shared {
		if err := removeOthers(dir); err != nil {
			return err
		}
	}
	unfinished := filepath.Join(dir, p.name+".unfinished")
	command, err := p.command(ctx, root, unfinished)
	if err != nil {
		return err
	}
	if err := run(command, title, progress); err != nil {
		return err
	}
	return os.Rename(unfinished, filepath.Join(dir, p.name)) // A file with the program's name is complete.
}

// command is the build. Programs of the checkout are built as they are shipped.
func (p program) command(ctx context.Context, root, output string) (*exec.Cmd, error) {
	pkg := p.pkg
	if p.page != "" {
		// The go command ignores directories whose names begin with an underscore.
		pkg = filepath.Join(filepath.Dir(output), "_source", "main.go")
		if err := writeProgramOfPage(filepath.Join(root, p.page), pkg); err != nil {
			return nil, err
		}
	}
	command := exec.CommandContext(ctx, filepath.Join(root, "hack", "build.sh"), output, pkg)
	if p.shared {
		command = exec.CommandContext(ctx, "go", append(append([]string{"build"}, p.flags...), "-o", output, pkg)...)
	}
	command.Dir = filepath.Join(root, p.module)
	// go build -v writes a line for each package that it compiles.
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", strings.TrimSpace("GOFLAGS="+os.Getenv("GOFLAGS")+" -v"))
	return command, nil
}

func run(command *exec.Cmd, title string, progress io.Writer) error {
	output, err := command.StderrPipe()
	if err != nil {
		return err
	}
	start := time.Now()
	fmt.Fprintf(progress, "        %s\n", title)
	if err := command.Start(); err != nil {
		return err
	}
	var compiled atomic.Int64
	var diagnostics []string
	read := make(chan struct{})
	go func() {
		defer close(read)
		for lines := bufio.NewScanner(output); lines.Scan(); {
			line := lines.Text()
			if strings.Contains(line, " ") && !strings.HasPrefix(line, "go: downloading ") {
				diagnostics = append(diagnostics, line)
				continue
			}
			compiled.Add(1)
		}
	}()
	reportUntil(read, func() {
		fmt.Fprintf(progress, "%7s %s: %d packages downloaded or compiled so far\n", time.Since(start).Round(time.Second), title, compiled.Load())
	})
	if err := command.Wait(); err != nil {
		return fmt.Errorf("%s: %w\n%s", command, err, strings.Join(diagnostics, "\n"))
	}
	return nil
}

func reportUntil(done <-chan struct{}, report func()) {
	ticker := time.NewTicker(reportEvery)
	defer ticker.Stop()
	for {
		select {
		case <-done:
			return
		case <-ticker.C:
			report()
		}
	}
}

// removeOthers removes what was built from other sources of this checkout.
func removeOthers(dir string) error {
	siblings, err := os.ReadDir(filepath.Dir(dir))
	if err != nil {
		return err
	}
	for _, sibling := range siblings {
		if !sibling.IsDir() || sibling.Name() == filepath.Base(dir) {
			continue
		}
		if err := os.RemoveAll(filepath.Join(filepath.Dir(dir), sibling.Name())); err != nil {
			return err
		}
	}
	return nil
}

func lock(dir string) (unlock func(), err error) {
	file, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		return nil, fmt.Errorf("lock %s: %w", file.Name(), err)
	}
	return func() { file.Close() }, nil
}
