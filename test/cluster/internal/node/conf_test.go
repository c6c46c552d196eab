package node

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

func TestWriteConf(t *testing.T) {
	l := Layout{Bin: "/the/bin", Run: t.TempDir()}
	if err := writeConf(l); err != nil {
		t.Fatal(err)
	}
	read := func(name string) string {
		content, err := os.ReadFile(l.Conf(name))
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}
	if bridge := read("cni/10-bridge.conflist"); !json.Valid([]byte(bridge)) {
		t.Errorf("the CNI configuration is not JSON:\n%s", bridge)
	}
	if containerd := read("containerd.toml"); !strings.Contains(containerd, `bin_dirs = ["/the/bin/cni"]`) {
		t.Errorf("containerd does not find the CNI plugins:\n%s", containerd)
	}
	if hosts := read("registries/172.30.0.1:5000/hosts.toml"); !strings.Contains(hosts, `[host."http://172.30.0.1:5000"]`) {
		t.Errorf("containerd does not find the registry of a test:\n%s", hosts)
	}
	for line := range strings.Lines(read("kubelet.yaml")) {
		if strings.HasPrefix(line, "syncFrequency") {
			t.Errorf("the kubelet's sync period is not its default: %s", line)
		}
	}
}
