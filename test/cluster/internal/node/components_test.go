package node

import (
	"slices"
	"testing"
)

func TestAPIServerFlags(t *testing.T) {
	several := []string{"--endpoint-reconciler-type=lease", "--shutdown-delay-duration=2s"}
	for name, tc := range map[string]struct {
		servers, number int
		log             string
		has, lacks      []string
	}{
		"the only one": {1, 1, "kube-apiserver",
			[]string{"--bind-address=172.30.0.2", "--advertise-address=172.30.0.2", "--etcd-servers=http://127.0.0.1:2379", "--audit-log-path=/r/log/audit.log"}, several},
		"the first of three": {3, 1, "kube-apiserver",
			append([]string{"--bind-address=172.30.1.1", "--advertise-address=172.30.1.1", "--etcd-servers=http://127.0.0.1:2401", "--audit-log-path=/r/log/audit.log"}, several...), nil},
		"the third of three": {3, 3, "kube-apiserver-3",
			append([]string{"--bind-address=172.30.1.3", "--advertise-address=172.30.1.3", "--etcd-servers=http://127.0.0.1:2403", "--audit-log-path=/r/log/audit-3.log"}, several...), nil},
	} {
		t.Run(name, func(t *testing.T) {
			c := apiServer(Layout{Run: "/r", APIServers: tc.servers}, tc.number)
			if c.name != tc.log || c.program != "kube-apiserver" {
				t.Errorf("the program %s has the log %s, want %s", c.program, c.name, tc.log)
			}
			for _, flag := range tc.has {
				if !slices.Contains(c.args, flag) {
					t.Errorf("it lacks the flag %s: %q", flag, c.args)
				}
			}
			for _, flag := range tc.lacks {
				if slices.Contains(c.args, flag) {
					t.Errorf("it has the flag %s", flag)
				}
			}
		})
	}
}

func TestAPIServerHosts(t *testing.T) {
	for servers, want := range map[int]string{1: "172.30.0.2", 3: "172.30.1.3"} {
		if got := apiServerHosts(Layout{APIServers: servers}); !slices.Contains(got, want) || !slices.Contains(got, IP) {
			t.Errorf("with %d API servers, the certificate is for %q, without %s", servers, got, want)
		}
	}
}
