package kube

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
)

type process struct {
	cmd   *exec.Cmd
	log   string
	ended chan struct{}
	err   error // once ended is closed
}

// startProcess starts a program without the environment of the test: the API server would call webhooks through a proxy
// named there.
func startProcess(program, log string, flags []string, environment ...string) (*process, error) {
	output, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	defer output.Close()
	p := &process{log: log, ended: make(chan struct{}), cmd: &exec.Cmd{
		Path:        program,
		Args:        append([]string{program}, flags...),
		Env:         append([]string{}, environment...), // with nil, it would be that of the test
		Stdout:      output,
		Stderr:      output,
		SysProcAttr: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL},
	}}
	started := make(chan error)
	go p.run(started)
	return p, <-started
}

// run keeps the thread that started the process: the kernel kills the process when that thread ends.
func (p *process) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := p.cmd.Start(); err != nil {
		close(p.ended)
		started <- err
		return
	}
	started <- nil
	p.err = p.cmd.Wait()
	close(p.ended)
}

func (p *process) endError() error {
	select {
	case <-p.ended:
		return fmt.Errorf("%s ended: %w\n%s", filepath.Base(p.cmd.Path), p.err, tail(p.log))
	default:
		return nil
	}
}

// kill does not ask: a server that has nothing to save need not close connections cleanly.
func (p *process) kill() {
	if p.cmd.Process != nil {
		_ = p.cmd.Process.Kill() // it may have ended already
	}
	<-p.ended
}

func tail(path string) string {
	const most = 2000
	content, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return string(content[max(0, len(content)-most):])
}
