package node

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestComponentOrdersThatAreRefused(t *testing.T) {
	for name, tc := range map[string]struct{ component, order, want string }{
		"the cluster ends without it": {"etcd", "stop", "etcd cannot be stopped: the components that can are kube-controller-manager, kube-scheduler, kubelet"},
		"an unknown order":            {"kubelet", "pause", `there is no order "pause"`},
		"one that is stopped":         {"kubelet", "stop", "kubelet does not run"},
	} {
		t.Run(name, func(t *testing.T) {
			err := newSupervisor(Layout{APIServers: 1}).obey(t.Context(), tc.component, tc.order)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("the order is answered by %v, want %q", err, tc.want)
			}
		})
	}
}

// A component can be stopped and started several times. The cluster does not end.
func TestStopAndStart(t *testing.T) {
	l := Layout{Bin: t.TempDir(), Run: t.TempDir(), APIServers: 1}
	program := "#!/bin/sh\nexec sleep 60\n"
	if err := os.WriteFile(filepath.Join(l.Bin, "kubelet"), []byte(program), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(l.Logs(), 0o755); err != nil {
		t.Fatal(err)
	}
	s := newSupervisor(l)
	for range 2 {
		if err := s.obey(t.Context(), "kubelet", "start"); err != nil {
			t.Fatal(err)
		}
		if err := s.obey(t.Context(), "kubelet", "start"); err == nil || !strings.Contains(err.Error(), "kubelet runs already") {
			t.Errorf("it is started twice: %v", err)
		}
		waited := make(chan error, 1)
		go func() { waited <- s.wait() }()
		if err := s.obey(t.Context(), "kubelet", "stop"); err != nil || s.runs("kubelet") {
			t.Errorf("it is stopped: %v; it runs: %t", err, s.runs("kubelet"))
		}
		if err := <-waited; err == nil || !strings.Contains(err.Error(), "no child processes") {
			t.Errorf("the cluster ends: %v", err)
		}
	}
}
