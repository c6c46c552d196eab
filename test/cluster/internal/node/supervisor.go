package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
)

// supervisor starts components and waits for every process that ends: orphans become children of PID 1.
type supervisor struct {
	layout Layout

	mutex   sync.Mutex
	started map[int]*running // by process ID
}

// running is a component that has started.
type running struct {
	name  string
	asked bool // to end
	ended chan struct{}
}

func newSupervisor(l Layout) *supervisor {
	return &supervisor{layout: l, started: map[int]*running{}}
}

func (s *supervisor) start(components ...component) error {
	s.mutex.Lock() // until the process is known, it may not be waited for
	defer s.mutex.Unlock()
	for _, c := range components {
		log, err := os.OpenFile(s.layout.Log(c.name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			return err
		}
		program := s.layout.Program(c.program)
		cmd := &exec.Cmd{Path: program, Args: append([]string{program}, c.args...), Stdout: log, Stderr: log}
		err = cmd.Start()
		log.Close()
		if err != nil {
			return fmt.Errorf("start %s: %w", c.name, err)
		}
		s.started[cmd.Process.Pid] = &running{name: c.name, ended: make(chan struct{})}
		logf("started %s", c.name)
	}
	return nil
}

// end asks a component to end, and returns when it has. It fails if the component does not run.
func (s *supervisor) end(ctx context.Context, name string) error {
	ended, err := s.ask(name)
	if err != nil {
		return err
	}
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%s does not end: see %s: %w", name, s.layout.Log(name), ctx.Err())
	}
}

func (s *supervisor) ask(name string) (ended <-chan struct{}, err error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for pid, r := range s.started {
		if r.name == name {
			r.asked = true
			return r.ended, syscall.Kill(pid, syscall.SIGTERM)
		}
	}
	return nil, fmt.Errorf("%s does not run", name)
}

func (s *supervisor) runs(name string) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, r := range s.started {
		if r.name == name {
			return true
		}
	}
	return false
}

// wait returns when a component has ended that was not asked to: then the cluster is broken, and all of it ends.
func (s *supervisor) wait() error {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil {
			return fmt.Errorf("wait for the components: %w", err)
		}
		if err := s.note(pid, status); err != nil {
			return err
		}
	}
}

// ended returns an error if a component has ended that was not asked to. It does not wait, and ignores other children.
func (s *supervisor) ended() error {
	for _, pid := range s.pids() {
		var status syscall.WaitStatus
		if ended, err := syscall.Wait4(pid, &status, syscall.WNOHANG, nil); err == nil && ended == pid {
			if err := s.note(pid, status); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *supervisor) pids() []int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	var pids []int
	for pid := range s.started {
		pids = append(pids, pid)
	}
	return pids
}

// note records that a process has ended. It returns an error if it is a component that was not asked to.
func (s *supervisor) note(pid int, status syscall.WaitStatus) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	r := s.started[pid]
	if r == nil {
		return nil
	}
	if !r.asked {
		return fmt.Errorf("%s ended with %s: see %s", r.name, describe(status), s.layout.Log(r.name))
	}
	delete(s.started, pid)
	close(r.ended)
	logf("%s ended with %s", r.name, describe(status))
	return nil
}

func describe(status syscall.WaitStatus) string {
	if status.Signaled() {
		return "signal " + status.Signal().String()
	}
	return fmt.Sprintf("exit status %d", status.ExitStatus())
}
