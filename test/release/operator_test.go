package release

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

const (
	hosting       = "github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting"
	operatorImage = "registry.example.com/team-label" // without a tag
)

// writesOperator follows docs/author/first-webhook.md, and then the README.md of the operator.
func writesOperator(t *testing.T, r *release, c *cluster) {
	t.Helper()
	s := newShell(t, r, c, goEnvironment(t, r)...)
	s.follow(commandsOf(t, install, "Download"))
	s.follow(commandsOf(t, install, "The command"))
	s.follow(commandsOf(t, firstSteps, "From a template"))
	contains(t, filepath.Join(s.dir, "go.mod"), hosting+" "+r.version)

	s.importImage("v0.1.0")
	s.run("make install")
	const try = "kubectl -n default run cart --image=any --dry-run=server"
	contains(t, filepath.Join(s.dir, "README.md"), "`make install`", "`"+try+"` is denied", "`--labels=team=sales` it is allowed")
	s.denies(try)
	s.run(try + " --labels=team=sales")
	s.writesNextVersion(try)
	s.run("kubectl webhooks bundle uninstall ./bundle")
	s.prints("created", try)
}

// writesNextVersion follows the section "The next version" of the README.md, with another rule. Then it tries the rule.
func (s *shell) writesNextVersion(try string) {
	s.Helper()
	contains(s.T, filepath.Join(s.dir, "README.md"), "name: team-label.v0.2.0", "version: 0.2.0", "replaces: team-label.v0.1.0", "`make upgrade`")
	s.run(`sed -i 's/teamLabel = "team"/teamLabel = "owner"/' validating.go`)
	s.run(`sed -i 's/name: team-label\.v0\.1\.0/name: team-label.v0.2.0/; s/^  version: 0\.1\.0/  version: 0.2.0\n  replaces: team-label.v0.1.0/' bundle/manifests/team-label.clusterserviceversion.yaml`)
	s.run("sed -i 's#" + operatorImage + ":v0.1.0#" + operatorImage + ":v0.2.0#' Makefile bundle/manifests/team-label.clusterserviceversion.yaml")
	s.run("make test build")
	s.importImage("v0.2.0")
	s.run("make upgrade")
	s.denies(try + " --labels=team=sales")
	s.prints("created", try+" --labels=owner=sales")
}

// importImage builds the image of the operator and imports it, in place of "make push", which needs Docker.
func (s *shell) importImage(tag string) {
	s.Helper()
	s.run("ctr -n k8s.io images import " + buildImage(s.T, filepath.Join(s.dir, "bin", "team-label"), operatorImage+":"+tag))
}

func contains(t *testing.T, file string, texts ...string) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range texts {
		if !strings.Contains(string(content), text) {
			t.Errorf("%s lacks %q:\n%s", file, text, content)
		}
	}
}

// buildImage does what "make image" of the operator does with Docker.
func buildImage(t *testing.T, program, image string) string {
	t.Helper()
	archive := filepath.Join(t.TempDir(), "image.tar")
	command := exec.CommandContext(t.Context(), "go", "run", "./hack/mkimage", "-o", archive, "-t", image, program)
	command.Dir, command.Env = root, append(os.Environ(), "GOWORK=off")
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	return archive
}

// goEnvironment returns the variables with which Go downloads pkg/hosting from a directory, and other modules from the
// module cache of this machine or from its proxy. The checksum database does not know pkg/hosting. The modules are not
// added to the cache of the machine. With -trimpath, the build cache does not depend on their directory.
func goEnvironment(t *testing.T, r *release) []string {
	t.Helper()
	output, err := exec.CommandContext(t.Context(), "go", "env", "-json").Output()
	if err != nil {
		t.Fatal(err)
	}
	var machine map[string]string
	if err := json.Unmarshal(output, &machine); err != nil {
		t.Fatal(err)
	}
	proxies := []string{"file://" + publishHosting(t, r), "file://" + machine["GOMODCACHE"] + "/cache/download", machine["GOPROXY"]}
	return []string{
		"GOPROXY=" + strings.Join(proxies, ","), "GONOSUMDB=" + hosting, "GOFLAGS=-modcacherw -trimpath",
		"GOMODCACHE=" + t.TempDir(), "GOCACHE=" + machine["GOCACHE"], "GOTOOLCHAIN=" + machine["GOTOOLCHAIN"],
	}
}

// publishHosting returns the directory of a module proxy that has pkg/hosting of the release's commit, at the version
// that the tag pkg/hosting/VERSION gives it.
func publishHosting(t *testing.T, r *release) string {
	t.Helper()
	proxy := t.TempDir()
	versions := filepath.Join(proxy, filepath.FromSlash(hosting), "@v")
	must(t, os.MkdirAll(versions, 0o755))
	write := func(name string, content []byte) {
		must(t, os.WriteFile(filepath.Join(versions, name), content, 0o600))
	}

	archive, err := os.Create(filepath.Join(versions, r.version+".zip"))
	must(t, err)
	defer archive.Close()
	checkout, err := filepath.Abs(root)
	must(t, err)
	if err := zip.CreateFromVCS(archive, module.Version{Path: hosting, Version: r.version}, checkout, r.commit, "pkg/hosting"); err != nil {
		t.Fatalf("%v\nRun the test in the clone that built the release: it has the commit %s", err, r.commit)
	}
	goMod, err := exec.CommandContext(t.Context(), "git", "-C", checkout, "show", r.commit+":pkg/hosting/go.mod").Output()
	must(t, err)
	info, err := json.Marshal(map[string]any{"Version": r.version, "Time": time.Unix(0, 0).UTC()})
	must(t, err)
	write(r.version+".mod", goMod)
	write(r.version+".info", info)
	write("list", []byte(r.version+"\n"))
	return proxy
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
