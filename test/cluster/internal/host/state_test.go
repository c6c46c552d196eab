package host

import "testing"

func TestExternal(t *testing.T) {
	for name, tc := range map[string]struct {
		env  map[string]string
		want bool
	}{
		"nothing set":             {map[string]string{}, false},
		"a cluster of one's own":  {map[string]string{"KUBECONFIG": "/home/user/.kube/config"}, true},
		"several files":           {map[string]string{"KUBECONFIG": "/a:/b"}, true},
		"the one that up wrote":   {map[string]string{"KUBECONFIG": "/run/olm-webhook-manager/kubeconfig"}, false},
		"the same, in other ways": {map[string]string{"KUBECONFIG": "/run//olm-webhook-manager/./kubeconfig"}, false},
		"the one of another run":  {map[string]string{"KUBECONFIG": "/run/olm-webhook-manager/kubeconfig", "OWM_RUN": "/run/other"}, true},
		"the one of this run":     {map[string]string{"KUBECONFIG": "/run/other/kubeconfig", "OWM_RUN": "/run/other/"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if path, got := External(func(name string) string { return tc.env[name] }); got != tc.want {
				t.Errorf("External = %q, %v; want %v", path, got, tc.want)
			}
		})
	}
}
