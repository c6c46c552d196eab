package binaries

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestVersions(t *testing.T) {
	dir, err := moduleDir()
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range Versions() {
		mod, sum, err := modFile(version)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range []string{mod, sum} {
			if _, err := os.Stat(filepath.Join(dir, file)); err != nil {
				t.Error(err)
			}
		}
		content, err := os.ReadFile(filepath.Join(dir, mod))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := requiredVersion(string(content), "k8s.io/kubernetes"); err != nil || !strings.HasPrefix(got, "v"+version+".") {
			t.Errorf("%s requires Kubernetes %q, %v; want one of v%s", mod, got, err, version)
		}
	}
	if _, _, err := modFile("1.20"); err == nil {
		t.Error("a version without a file can be built")
	}
}

func TestEachVersionHasItsOwnKey(t *testing.T) {
	seen := map[string]string{}
	for _, version := range Versions() {
		c, _, err := open(version)
		if err != nil {
			t.Fatal(err)
		}
		if other, ok := seen[c.dir]; ok {
			t.Errorf("%s and %s are both built into %s", version, other, c.dir)
		}
		seen[c.dir] = version
	}
}

func TestContainerdHasSourcesOfItsOwn(t *testing.T) {
	for containerd, want := range map[string]string{"v2.2.9": "./cmd/containerd", "v2.4.2": "./cmd/containerd24", "v2.10.0": "./cmd/containerd24"} {
		for _, p := range programs("v1.36.3", containerd) {
			if p.name == "containerd" && p.pkg != want {
				t.Errorf("containerd %s is built from %s, want %s", containerd, p.pkg, want)
			}
		}
	}
}
