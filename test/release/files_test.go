package release

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	files = flag.String("files", "", "directory with the files of a release")
	key   = flag.String("key", "", "public key of cosign, for a release that is signed")
)

func TestMain(m *testing.M) {
	flag.Parse()
	if *files == "" {
		fmt.Fprintln(os.Stderr, "-files is empty: name the directory with the files of a release, or run \"make release-test VERSION=...\"")
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// release is the directory of its files, and a server in place of GitHub.
type release struct {
	directory string
	version   string
	commit    string
	server    *httptest.Server
}

var versionOfProvenance = regexp.MustCompile(`^v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`)

func open(t *testing.T) *release {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(*files, "provenance.intoto.json"))
	if err != nil {
		t.Fatal(err)
	}
	var provenance struct {
		Predicate struct {
			BuildDefinition struct {
				ExternalParameters   map[string]string
				ResolvedDependencies []struct{ Digest map[string]string }
			}
		}
	}
	if err := json.Unmarshal(text, &provenance); err != nil {
		t.Fatal(err)
	}
	definition := provenance.Predicate.BuildDefinition
	version := definition.ExternalParameters["version"]
	if !versionOfProvenance.MatchString(version) || len(definition.ResolvedDependencies) != 1 {
		t.Fatalf("the provenance has no version and commit:\n%s", text)
	}
	prefix := "/olm-webhook-manager/olm-webhook-manager/releases/download/" + version + "/"
	server := httptest.NewServer(http.StripPrefix(prefix, http.FileServer(http.Dir(*files))))
	t.Cleanup(server.Close)
	return &release{*files, version, definition.ResolvedDependencies[0].Digest["gitCommit"], server}
}

// TestFiles checks that the checksums cover each file.
func TestFiles(t *testing.T) {
	r := open(t)
	s := newShell(t, r, &cluster{})
	s.dir = r.directory
	s.run("sha256sum --check --strict --quiet SHA256SUMS")
	sums, err := os.ReadFile(filepath.Join(r.directory, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(r.directory)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		isSum := strings.HasPrefix(entry.Name(), "SHA256SUMS")
		if !isSum && !strings.Contains(string(sums), "  "+entry.Name()+"\n") {
			t.Errorf("SHA256SUMS has no sum of %s", entry.Name())
		}
	}
}

// TestSignature runs the documented command with the checksums, and with changed ones.
func TestSignature(t *testing.T) {
	r := open(t)
	const signature = "SHA256SUMS.sigstore.json"
	if _, err := os.Stat(filepath.Join(r.directory, signature)); os.IsNotExist(err) {
		t.Skipf("the release is not signed: it has no %s", signature)
	}
	if *key == "" {
		t.Fatal("the release is signed, and -key is empty: name the public key, or run \"make release-test COSIGN_PUB=cosign.pub VERSION=...\"")
	}
	s := newShell(t, r, &cluster{})
	for name, from := range map[string]string{"SHA256SUMS": r.directory, signature: r.directory, "cosign.pub": ""} {
		source := filepath.Join(from, name)
		if from == "" {
			source = *key
		}
		copyFile(t, source, filepath.Join(s.dir, name))
	}
	verify := commandsOf(t, "docs/developer/release.md", "Verify a download")
	command := verify[len(verify)-1].text
	s.run(command)
	s.run("sed -i '1s/^./x/' SHA256SUMS")
	if output, err := s.try(command); err == nil {
		t.Errorf("changed checksums are verified:\n%s", output)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	content, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, content, 0o600); err != nil {
		t.Fatal(err)
	}
}
