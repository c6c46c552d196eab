package node

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// supervisor starts components and waits for every process that ends: orphans become children of PID 1.
type supervisor struct {
	layout  Layout
	started map[int]string // the components, by process ID
}

func (s *supervisor) start(components ...component) error {
	for _, c := range components {
		log, err := os.Create(s.layout.Log(c.name))
		if err != nil {
			return err
		}
		program := s.layout.Program(c.name)
		cmd := &exec.Cmd{Path: program, Args: append([]string{program}, c.args...), Stdout: log, Stderr: log}
		err = cmd.Start()
		log.Close()
		if err != nil {
			return fmt.Errorf("start %s: %w", c.name, err)
		}
		s.started[cmd.Process.Pid] = c.name
		logf("started %s", c.name)
	}
	return nil
}

// wait returns when a component has ended: then the cluster is broken, and all of it ends.
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
		if s.started[pid] != "" {
			return s.endError(pid, status)
		}
	}
}

// ended returns an error if a component has ended. It does not wait, and ignores other children.
func (s *supervisor) ended() error {
	for pid := range s.started {
		var status syscall.WaitStatus
		if ended, err := syscall.Wait4(pid, &status, syscall.WNOHANG, nil); err == nil && ended == pid {
			return s.endError(pid, status)
		}
	}
	return nil
}

func (s *supervisor) endError(pid int, status syscall.WaitStatus) error {
	name := s.started[pid]
	return fmt.Errorf("%s ended with %s: see %s", name, describe(status), s.layout.Log(name))
}

func describe(status syscall.WaitStatus) string {
	if status.Signaled() {
		return "signal " + status.Signal().String()
	}
	return fmt.Sprintf("exit status %d", status.ExitStatus())
}
