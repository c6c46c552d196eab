//go:build cluster

package prove

import (
	"context"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

func TestAPIServers(t *testing.T) {
	c := newTool(t)
	t.Cleanup(func() {
		if out, err := exec.CommandContext(context.WithoutCancel(t.Context()), c.program, "down").CombinedOutput(); err != nil {
			t.Errorf("down: %v\n%s", err, out)
		}
	})
	t.Log("\n" + c.run(t, "up", "--install", "--api-servers", "3"))
	all := []string{"172.30.1.1", "172.30.1.2", "172.30.1.3"}

	t.Run("up with another number refuses", func(t *testing.T) {
		if out, err := c.try(t, "up"); err == nil || !strings.Contains(out, "take it down first") {
			t.Errorf("up reports:\n%s", out)
		}
	})
	t.Run("the Service kubernetes has all of them", func(t *testing.T) {
		eventually(t, "the endpoints are all API servers", func() bool { return slices.Equal(c.endpoints(t), all) })
	})
	t.Run("each is reachable, by all addresses together too", func(t *testing.T) {
		for _, ip := range append([]string{"172.30.0.2", "10.96.0.1"}, all...) {
			server := "--server=https://" + ip
			if ip != "10.96.0.1" {
				server += ":6443"
			}
			c.kubectl(t, server, "get", "namespace", "default")
		}
	})
	t.Run("one that is stopped is left out until it is started", func(t *testing.T) {
		c.run(t, "api-server", "stop", "2")
		if out := c.run(t, "status"); !strings.Contains(out, "172.30.1.2:6443 stopped") {
			t.Errorf("the status is\n%s", out)
		}
		for range all {
			c.kubectl(t, "get", "namespace", "default")
		}
		eventually(t, "the endpoints are the others", func() bool { return slices.Equal(c.endpoints(t), []string{all[0], all[2]}) })
		c.run(t, "api-server", "start", "2")
		eventually(t, "the endpoints are all API servers", func() bool { return slices.Equal(c.endpoints(t), all) })
	})
	t.Run("one that is restarted serves again", func(t *testing.T) {
		c.run(t, "api-server", "restart", "1")
		c.kubectl(t, "--server=https://"+all[0]+":6443", "get", "namespace", "default")
	})
	t.Run("one that is held is behind", func(t *testing.T) {
		c.run(t, "api-server", "hold", "3")
		c.kubectl(t, "create", "configmap", "held")
		eventually(t, "the others have it in their caches", func() bool { return c.cached(t, all[0], "held") && c.cached(t, all[1], "held") })
		c.kubectl(t, "--server=https://"+all[2]+":6443", "get", "configmap", "held") // what etcd has
		if c.cached(t, all[2], "held") {
			t.Error("API server 3 has it in its cache")
		}
		c.run(t, "api-server", "release", "3")
		eventually(t, "API server 3 has it in its cache", func() bool { return c.cached(t, all[2], "held") })
	})
}

// endpoints are the addresses of the Service kubernetes.
func (c tool) endpoints(t *testing.T) []string {
	t.Helper()
	return lines(strings.ReplaceAll(c.kubectlOutput(t, "get", "endpointslice", "kubernetes", "--output=jsonpath={.endpoints[*].addresses[*]}"), " ", "\n"))
}

// cached reports whether an API server has a ConfigMap in its cache: resource version 0 asks for nothing newer.
func (c tool) cached(t *testing.T, ip, name string) bool {
	t.Helper()
	return strings.Contains(c.kubectlOutput(t, "--server=https://"+ip+":6443", "get", "--raw", "/api/v1/namespaces/default/configmaps?resourceVersion=0"), `"name":"`+name+`"`)
}
