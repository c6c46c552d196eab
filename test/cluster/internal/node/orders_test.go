package node

import (
	"strings"
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/cluster/internal/lag"
)

func TestOrdersThatAreRefused(t *testing.T) {
	sole := []*oneAPIServer{{number: 1, name: "kube-apiserver"}}
	for name, tc := range map[string]struct{ number, order, want string }{
		"a number that no API server has": {"2", "stop", "there is no API server 2: the cluster has 1"},
		"no number":                       {"first", "stop", "there is no API server first"},
		"an unknown order":                {"1", "pause", `there is no order "pause"`},
		"one that is stopped":             {"1", "stop", "kube-apiserver does not run"},
		"the only one is behind no other": {"1", "hold", "cannot be behind another one"},
	} {
		t.Run(name, func(t *testing.T) {
			a := &apiServers{supervisor: newSupervisor(Layout{APIServers: 1}), servers: sole}
			if err := a.obey(t.Context(), tc.number, tc.order); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("the order is answered by %v, want %q", err, tc.want)
			}
		})
	}
}

func TestHoldAndRelease(t *testing.T) {
	s := &oneAPIServer{number: 2, link: lag.New("127.0.0.1:1")}
	a := &apiServers{supervisor: newSupervisor(Layout{APIServers: 2}), servers: []*oneAPIServer{{number: 1}, s}}
	for _, order := range []string{"hold", "hold", "release", "release"} {
		if err := a.obey(t.Context(), "2", order); err != nil || s.link.Held() != (order == "hold") {
			t.Errorf("after %s, the link is held: %t, %v", order, s.link.Held(), err)
		}
	}
}

func TestOpenReadsWhatWriteWrote(t *testing.T) {
	l := Layout{Bin: "/the/bin", Run: t.TempDir(), APIServers: 3}
	if err := l.Write(); err != nil {
		t.Fatal(err)
	}
	if got, err := Open(l.Run); err != nil || got != l {
		t.Errorf("Open = %+v, %v; want %+v", got, err, l)
	}
}
