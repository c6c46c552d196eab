package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
)

const changelog = `# Changelog

## [Unreleased]

- Next.

## [0.2.0] - 2026-12-01

### Added

- A feature.

## [0.1.0] - 2026-11-27

- The first.

[Unreleased]: https://example.com
`

func TestNotesOf(t *testing.T) {
	for version, want := range map[string]string{
		"v0.2.0": "### Added\n\n- A feature.",
		"v0.1.0": "- The first.",
	} {
		if got, err := notesOf(changelog, version); err != nil || got != want {
			t.Errorf("notes of %s: %q, %v, want %q", version, got, err, want)
		}
	}
	_, err := notesOf(changelog, "v0.3.0")
	wantError(t, `no section "## [0.3.0]"`, err)
	_, err = notesOf("## [0.3.0]\n\n## [0.2.0]\n", "v0.3.0")
	wantError(t, "is empty", err)
}

func TestNewReleaseRefuses(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "CHANGELOG.md"), []byte(changelog), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ version, out, want string }{
		"no version":              {"", "out", "-version"},
		"a version without v":     {"0.1.0", "out", "-version"},
		"a part of a version":     {"v0.1", "out", "-version"},
		"build metadata":          {"v0.1.0+x", "out", "-version"},
		"a commit after a tag":    {"v0.1.0-3-g0123456", "out", "-version"},
		"no directory":            {"v0.1.0", "", "-out"},
		"a directory that exists": {"v0.1.0", root, "exists"},
		"no notes":                {"v9.0.0", "out", "no section"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := newRelease(tree{root: root}, test.version, test.out)
			wantError(t, test.want, err)
		})
	}
}

func TestCanSign(t *testing.T) {
	programs := t.TempDir()
	t.Setenv("PATH", programs)
	if err := canSign(""); err != nil {
		t.Errorf("without a key: %v", err)
	}
	key := filepath.Join(t.TempDir(), "cosign.key")
	wantError(t, "install cosign 3", canSign(key))
	if err := os.WriteFile(filepath.Join(programs, "cosign"), []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	wantError(t, "no such file", canSign(key))
	if err := canSign("awskms:///alias/key"); err != nil {
		t.Errorf("a key management service: %v", err)
	}
	if err := os.WriteFile(key, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := canSign(key); err != nil {
		t.Errorf("a file: %v", err)
	}
}

func TestPackDependsOnContentOnly(t *testing.T) {
	files := []file{{"program", 0o755, []byte("x")}, {"LICENSE", 0o644, []byte("y")}}
	for _, name := range []string{"a.tar.gz", "a.zip"} {
		first, err := pack(name, files, time.Unix(1000, 0).UTC())
		if err != nil {
			t.Fatal(err)
		}
		second, err := pack(name, files, time.Unix(1000, 0).UTC())
		if err != nil || !bytes.Equal(first, second) {
			t.Errorf("%s: two archives of the same files differ (%v)", name, err)
		}
	}
}

func TestProgramsOfArchives(t *testing.T) {
	for p, want := range map[platform]string{
		{"linux", "amd64"}:   "kubectl-webhooks_v0.1.0_linux_amd64.tar.gz",
		{"windows", "arm64"}: "kubectl-webhooks_v0.1.0_windows_arm64.zip",
	} {
		if got := p.archive(pluginOf, "v0.1.0"); got != want {
			t.Errorf("the archive is %s, want %s", got, want)
		}
	}
}

func TestKrewManifest(t *testing.T) {
	manifest := krewManifest("v0.1.0", []sum{{"kubectl-webhooks_v0.1.0_windows_amd64.zip", "abc"}})
	if len(manifest.Spec.Platforms) != len(platforms) {
		t.Errorf("%d platforms, want %d", len(manifest.Spec.Platforms), len(platforms))
	}
	want := krewPlatform{
		Selector: map[string]map[string]string{"matchLabels": {"os": "windows", "arch": "amd64"}},
		URI:      repository + "/releases/download/v0.1.0/kubectl-webhooks_v0.1.0_windows_amd64.zip",
		SHA256:   "abc",
		Bin:      "kubectl-webhooks.exe",
	}
	sameJSON(t, want, manifest.Spec.Platforms[4])
}

func TestBillListsModulesOnce(t *testing.T) {
	bill := billOf("program", "v0.1.0", "go1.26.8", time.Unix(0, 0).UTC(), []*debug.Module{
		{Path: "example.com/b", Version: "v1.0.0"},
		{Path: "example.com/a", Version: "v2.0.0"},
		{Path: "example.com/b", Version: "v1.0.0"},
		{Path: "example.com/old", Version: "v1.0.0", Replace: &debug.Module{Path: "example.com/new", Version: "v3.0.0"}},
		{Path: "example.com/ours", Version: "v0.0.0", Replace: &debug.Module{Path: "../ours", Version: "(devel)"}},
	})
	var names []string
	for _, c := range *bill.Components {
		names = append(names, c.PackageURL)
	}
	sameJSON(t, []string{
		"pkg:golang/example.com/a@v2.0.0", "pkg:golang/example.com/b@v1.0.0", "pkg:golang/example.com/new@v3.0.0",
		"pkg:golang/example.com/ours@v0.1.0", "pkg:golang/std@1.26.8",
	}, names)
	if bill.Metadata.Component.Type != cyclonedx.ComponentTypeApplication || bill.Metadata.Component.Version != "v0.1.0" {
		t.Errorf("the component is %+v", bill.Metadata.Component)
	}
}

func TestProvenanceOf(t *testing.T) {
	s := provenanceOf("v0.1.0", "0123", "go1.26.8", []sum{{"a", "aa"}}, []image{{"docker.io/x:v0.1.0", "sha256:bb"}})
	sameJSON(t, []resource{
		{Name: "a", Digest: map[string]string{"sha256": "aa"}},
		{Name: "docker.io/x:v0.1.0", Digest: map[string]string{"sha256": "bb"}},
	}, s.Subject)
	sameJSON(t, []resource{{URI: "git+" + repository + "@refs/tags/v0.1.0", Digest: map[string]string{"gitCommit": "0123"}}}, s.Predicate.BuildDefinition.ResolvedDependencies)
}

func TestChartHasVersionAndDigest(t *testing.T) {
	files, err := readChart(os.DirFS("../../charts"), "v0.1.0", "sha256:abc")
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, f := range files {
		texts[f.name] = string(f.content)
	}
	for name, lines := range map[string][]string{
		"olm-webhook-manager/Chart.yaml":  {"version: 0.1.0", "appVersion: v0.1.0"},
		"olm-webhook-manager/values.yaml": {"  digest: sha256:abc"},
	} {
		for _, line := range lines {
			if !strings.Contains(texts[name], "\n"+line+"\n") {
				t.Errorf("%s lacks the line %q:\n%s", name, line, texts[name])
			}
		}
	}
	_, err = replaceLines("\na\n", map[string]string{"b": "c"})
	wantError(t, `the line "b" once`, err)
}

func TestExampleHasVersionAndDigest(t *testing.T) {
	files, err := readExample(os.DirFS("../../examples/poddefaults"), "v0.2.0", image{"docker.io/x:v0.2.0", "sha256:abc"})
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, f := range files {
		texts[f.name] = string(f.content)
		if strings.Contains(string(f.content), ":dev") {
			t.Errorf("%s names an image that is not released:\n%s", f.name, f.content)
		}
	}
	for name, text := range map[string]string{
		"example-poddefaults/bundle/manifests/poddefaults.clusterserviceversion.yaml": "image: docker.io/x:v0.2.0@sha256:abc\n",
		"example-poddefaults/bundle/metadata/annotations.yaml":                        "package.v1: poddefaults\n",
		"example-poddefaults/bundle.waivers.yaml":                                     "waivers:\n",
		"example-poddefaults/samples/pod-conflict.yaml":                               "kind: Pod\n",
	} {
		if !strings.Contains(texts[name], text) {
			t.Errorf("%s lacks %q:\n%s", name, text, texts[name])
		}
	}
	if _, extra := texts["example-poddefaults/main.go"]; extra {
		t.Error("the archive has the source of the program")
	}
}

func TestCatalogHasManifests(t *testing.T) {
	bundle := fstest.MapFS{"manifests/a.yaml": {Data: []byte("kind: ClusterServiceVersion\n")}, "metadata/annotations.yaml": {}}
	catalog, err := catalogOf("v0.1.0", image{"docker.io/x-bundle:v0.1.0", "sha256:bb"}, bundle)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"schema: olm.package", "- name: olm-webhook-manager.v0.1.0", "image: docker.io/x-bundle:v0.1.0@sha256:bb", "version: 0.1.0",
		base64.StdEncoding.EncodeToString([]byte(`{"kind":"ClusterServiceVersion"}`)),
	} {
		if !strings.Contains(string(catalog), want) {
			t.Errorf("the catalog lacks %q:\n%s", want, catalog)
		}
	}
}

func TestOverlayNamesDigest(t *testing.T) {
	overlay := overlayOf([]string{"crds", "manager"}, image{"docker.io/x:v0.1.0", "sha256:bb"})
	for _, want := range []string{"- ../../../manifests/crds\n- ../../../manifests/manager\n", "value: docker.io/x:v0.1.0@sha256:bb"} {
		if !strings.Contains(overlay, want) {
			t.Errorf("the overlay lacks %q:\n%s", want, overlay)
		}
	}
}

func wantError(t *testing.T, want string, err error) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("the error is %v, want one with %q", err, want)
	}
}

func sameJSON(t *testing.T, want, got any) {
	t.Helper()
	w, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	g, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(w, g) {
		t.Errorf("want %s, got %s", w, g)
	}
}
