//go:build cluster

package prove

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/cluster/internal/pki"
)

const (
	serverName = "hook.prove.svc"
	serviceURL = "https://10.96.0.99" // as in testdata/hook.yaml
	hookImage  = "localhost/olm-webhook-manager/hook:1"
)

func TestCluster(t *testing.T) {
	c := newTool(t)
	if out, err := c.try(t, "status"); err == nil || !strings.Contains(out, "no cluster is up") {
		t.Fatalf("there is a cluster, take it down first: %s", out)
	}
	c.run(t, "up", "--install") // what it installs stays, and belongs into the picture
	c.run(t, "down")
	before := picture(t)

	t.Run("up", func(t *testing.T) {
		t.Log("\n" + c.run(t, "up"))
	})
	t.Run("up again leaves it as it is", func(t *testing.T) {
		if out := c.run(t, "up"); !strings.Contains(out, "the cluster is up already") {
			t.Errorf("up reports:\n%s", out)
		}
	})
	t.Run("a webhook in a pod denies", func(t *testing.T) {
		proveWebhook(t, c)
	})
	t.Run("up again after a component has ended", func(t *testing.T) {
		must(t, syscall.Kill(kubeletPID(t, c), syscall.SIGTERM))
		eventually(t, "the status reports what has ended", func() bool {
			out, err := c.try(t, "status")
			return err != nil && strings.Contains(out, "kubelet ended")
		})
		t.Log("\n" + c.run(t, "up"))
		c.kubectl(t, "get", "node")
	})
	t.Run("down leaves nothing", func(t *testing.T) {
		t.Log("\n" + c.run(t, "down"))
		after := picture(t)
		for what := range before {
			if !reflect.DeepEqual(before[what], after[what]) {
				t.Errorf("%s were\n  %s\nand are\n  %s", what, strings.Join(before[what], "\n  "), strings.Join(after[what], "\n  "))
			}
		}
	})
	t.Run("down again finds nothing", func(t *testing.T) {
		if out := c.run(t, "down"); !strings.Contains(out, "No cluster is up") {
			t.Errorf("down reports:\n%s", out)
		}
	})
}

func proveWebhook(t *testing.T, c tool) {
	authority, err := pki.NewAuthority("hook-ca")
	must(t, err)
	deployHook(t, c, authority)

	t.Run("its Service is reached from the machine", func(t *testing.T) {
		var answer string
		eventually(t, serviceURL+"/healthz answers", func() bool {
			answer, err = get(t, authority, serviceURL+"/healthz")
			return err == nil
		})
		if answer != "ok\n" {
			t.Errorf("the answer is %q", answer)
		}
	})
	t.Run("its pods reach the API server", func(t *testing.T) {
		if answer, err := get(t, authority, serviceURL+"/api"); err != nil || !strings.HasPrefix(answer, "200 OK") {
			t.Errorf("a pod gets %q, %v", answer, err)
		}
	})
	t.Run("the API server calls it", func(t *testing.T) {
		configuration := strings.ReplaceAll(readFile(t, "testdata/webhook.yaml"), "@CA@", base64.StdEncoding.EncodeToString(authority.Cert))
		if out, err := c.apply(t, nil, configuration); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		var denial string
		eventually(t, "an object is denied", func() bool {
			denial, err = c.apply(t, []string{"--dry-run=server"}, configMap("bad", "true"))
			return err != nil
		})
		if !strings.Contains(denial, `admission webhook "hook.prove.example.com" denied the request: denied by pod hook-`) {
			t.Errorf("the object is denied, but not by a pod of the webhook: %s", denial)
		}
		if out, err := c.apply(t, nil, configMap("good", "false")); err != nil {
			t.Errorf("an object that is right is denied: %s", out)
		}
	})
	t.Run("the audit log has it all", func(t *testing.T) {
		for _, name := range []string{"good", "bad"} {
			eventually(t, "it has a request for the object "+name, func() bool {
				return strings.Contains(readFile(t, c.layout.AuditLog()), fmt.Sprintf(`"resource":"configmaps","namespace":"default","name":%q`, name))
			})
		}
	})
}

func kubeletPID(t *testing.T, c tool) int {
	t.Helper()
	pids := strings.Fields(output(t, "pgrep", "--full", "/kubelet --config="+c.layout.Conf("kubelet.yaml")))
	if len(pids) != 1 {
		t.Fatalf("the kubelet is not one process: %v", pids)
	}
	pid, err := strconv.Atoi(pids[0])
	must(t, err)
	return pid
}

func deployHook(t *testing.T, c tool, authority *pki.Authority) {
	t.Helper()
	dir := t.TempDir()
	program, archive := filepath.Join(dir, "hook"), filepath.Join(dir, "hook.tar")
	t.Setenv("CGO_ENABLED", "0")
	output(t, "go", "build", "-o", program, "./hook")
	output(t, "go", "run", "-C", "../../..", "./hack/mkimage", "-o", archive, "-t", hookImage, program)
	c.run(t, "load", archive)

	pair, err := authority.Server("hook", serverName)
	must(t, err)
	certificate, key := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	for path, content := range map[string][]byte{certificate: pair.Cert, key: pair.Key} {
		must(t, os.WriteFile(path, content, 0o600))
	}
	c.kubectl(t, "create", "namespace", "prove")
	c.kubectl(t, "-n", "prove", "create", "secret", "tls", "hook-certs", "--cert="+certificate, "--key="+key)
	start := time.Now()
	c.kubectl(t, "apply", "-f", "testdata/hook.yaml")
	c.kubectl(t, "-n", "prove", "rollout", "status", "deployment/hook", "--timeout=90s")
	t.Logf("the Deployment is available after %.1f s", time.Since(start).Seconds())
}

func configMap(name, deny string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, namespace: default, labels: {deny: %q}}\n", name, deny)
}
