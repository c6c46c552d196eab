package programs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestEachStateOfTheSourcesHasItsOwnDirectory(t *testing.T) {
	p := program{name: "p", module: "m", inputs: []string{"m/go.mod", "m/pkg"}}
	root := t.TempDir()
	write(t, root, "m/go.mod", "module m")
	write(t, root, "m/pkg/a.go", "package a")
	first := directory(t, p, root)

	for _, other := range []string{"m/pkg/a_test.go", "m/pkg/testdata/a.go", "m/README.md"} {
		write(t, root, other, "package a")
		if got := directory(t, p, root); got != first {
			t.Errorf("%s is no input, and changes the directory", other)
		}
	}
	for _, input := range []string{"m/pkg/a.go", "m/pkg/b/embedded.yaml", "m/go.mod"} {
		before := directory(t, p, root)
		write(t, root, input, "changed")
		if got := directory(t, p, root); got == before {
			t.Errorf("a change of %s leaves the directory %s", input, got)
		}
	}
}

func TestOtherSourcesAreRemoved(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "lock", "")
	write(t, dir, "old/p", "")
	write(t, dir, "new/p", "")
	installtest.Must(t, removeOthers(filepath.Join(dir, "new")))
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(left) != 2 || filepath.Base(left[0]) != "lock" || filepath.Base(left[1]) != "new" {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestPathNamesTheNextStep(t *testing.T) {
	root := t.TempDir()
	for _, input := range tree {
		if filepath.Ext(input) == "" {
			input += "/file"
		}
		write(t, root, input, "")
	}
	write(t, root, "go.mod", "module "+module+"\n")
	t.Chdir(filepath.Join(root, "cmd"))
	if _, err := Path("kubectl-webhooks"); err == nil || !strings.Contains(err.Error(), "run make programs") {
		t.Errorf("err = %v", err)
	}
	write(t, root, "test/olm/upstream/go.mod", "")
	if _, err := Path(OPM); err == nil || !strings.Contains(err.Error(), "run make e2e-olm") {
		t.Errorf("err = %v", err)
	}
	if _, err := Path("nothing"); err == nil || !strings.Contains(err.Error(), "no program nothing") {
		t.Errorf("err = %v", err)
	}
}

func TestTheFirstProgramOfAPage(t *testing.T) {
	got, err := ProgramOf("# Page\n\n```sh\nls\n```\n\n```go\npackage main\n```\n\n```go\npackage second\n```\n")
	if err != nil || got != "package main\n" {
		t.Errorf("got %q, %v", got, err)
	}
	for name, text := range map[string]string{"none": "# Page\n", "not closed": "```go\npackage main\n"} {
		if got, err := ProgramOf(text); err == nil {
			t.Errorf("%s: got %q", name, got)
		}
	}
}

func directory(t *testing.T, p program, root string) string {
	t.Helper()
	dir, err := p.dir(root)
	installtest.Must(t, err)
	return dir
}

func write(t *testing.T, root, name, content string) {
	t.Helper()
	path := filepath.Join(root, name)
	installtest.Must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	installtest.Must(t, os.WriteFile(path, []byte(content), 0o600))
}
