package binaries

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCacheRoot(t *testing.T) {
	for name, tc := range map[string]struct {
		env  map[string]string
		want string
	}{
		"OWM_CACHE comes first":   {env: map[string]string{"OWM_CACHE": "/c", "XDG_CACHE_HOME": "/x", "HOME": "/h"}, want: "/c/cluster"},
		"then XDG_CACHE_HOME":     {env: map[string]string{"XDG_CACHE_HOME": "/x", "HOME": "/h"}, want: "/x/olm-webhook-manager/cluster"},
		"then the home directory": {env: map[string]string{"HOME": "/h"}, want: "/h/.cache/olm-webhook-manager/cluster"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := cacheRoot(func(name string) string { return tc.env[name] })
			if err != nil || got != tc.want {
				t.Errorf("cacheRoot = %q, %v; want %q", got, err, tc.want)
			}
		})
	}
	if got, err := cacheRoot(func(string) string { return "" }); err == nil {
		t.Errorf("cacheRoot without any variable = %q, want an error", got)
	}
}

func TestKey(t *testing.T) {
	module := func(t *testing.T) string {
		dir := t.TempDir()
		write(t, dir, "go.mod", "module m")
		write(t, dir, "go.sum", "sums")
		write(t, dir, "cmd/kube/main.go", "package main")
		write(t, dir, "cmd/cluster/main.go", "package main")
		return dir
	}
	kube := program{name: "kube", pkg: "./cmd/kube", args: []string{"-ldflags=-s"}}
	base := mustKey(t, module(t), kube)
	if !strings.HasPrefix(base, "v1.36.3-") {
		t.Errorf("key = %q, want it to begin with the version", base)
	}
	if again := mustKey(t, module(t), kube); again != base {
		t.Errorf("the same module in another folder has key %q, want %q", again, base)
	}
	for name, change := range map[string]func(dir string, p *program){
		"go.mod":             func(dir string, _ *program) { write(t, dir, "go.mod", "module n") },
		"go.sum":             func(dir string, _ *program) { write(t, dir, "go.sum", "") },
		"a program's source": func(dir string, _ *program) { write(t, dir, "cmd/kube/main.go", "package main // new") },
		"a new source file":  func(dir string, _ *program) { write(t, dir, "cmd/kube/more.go", "package main") },
		"how it is built":    func(_ string, p *program) { p.args = nil },
	} {
		dir, p := module(t), kube
		change(dir, &p)
		if got := mustKey(t, dir, p); got == base {
			t.Errorf("a change of %s leaves the key as it is: %q", name, got)
		}
	}
	dir := module(t)
	write(t, dir, "cmd/cluster/main.go", "package main // new")
	if got := mustKey(t, dir, kube); got != base {
		t.Errorf("a change of the tool itself makes the key %q, want %q", got, base)
	}
}

func TestRequiredVersion(t *testing.T) {
	mod := "module m\n\nrequire (\n\tk8s.io/kubernetes v1.36.3\n\tk8s.io/kubernetes-more v2.0.0 // indirect\n)\n\nreplace k8s.io/api => k8s.io/api v0.36.3\n"
	if got, err := requiredVersion(mod, "k8s.io/kubernetes"); err != nil || got != "v1.36.3" {
		t.Errorf("requiredVersion = %q, %v; want v1.36.3", got, err)
	}
	if got, err := requiredVersion(mod, "k8s.io/api"); err == nil {
		t.Errorf("requiredVersion of a module that is only replaced = %q, want an error", got)
	}
}

func TestKubernetesVersionFlags(t *testing.T) {
	got := kubernetesVersionFlags("v1.36.3")
	for _, want := range []string{
		" -X k8s.io/component-base/version.gitVersion=v1.36.3 ",
		" -X k8s.io/client-go/pkg/version.gitMajor=1 ",
		" -X k8s.io/component-base/version.gitMinor=36 ",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("flags %q lack %q", got, want)
		}
	}
}

func TestLightIsWhatTheAPIServerNeeds(t *testing.T) {
	var names []string
	for _, p := range wanted(programs("v1.36.3", "v2.2.9"), Light) {
		names = append(names, p.names()...)
	}
	got := strings.Join(names, " ")
	for _, want := range []string{"etcd", "kube-apiserver", "kubectl"} {
		if !strings.Contains(got, want) {
			t.Errorf("the light set is %q, without %s", got, want)
		}
	}
	if strings.Contains(got, "containerd") {
		t.Errorf("the light set is %q: containerd is only for a node", got)
	}
}

func mustKey(t *testing.T, dir string, p program) string {
	t.Helper()
	got, err := key(dir, "v1.36.3", []string{"go.mod", "go.sum"}, []program{p})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func write(t *testing.T, dir, name, content string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}
