package scaffold

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func run(arguments ...string) (string, error) {
	cmd := NewCommand()
	var out strings.Builder
	cmd.SetOut(&out)
	cmd.SetArgs(arguments)
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	err := cmd.Execute()
	return out.String(), err
}

func TestInit(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "team-label")
	said, err := run(dir, "--hosting-version", "v0.1.0", "--domain", "shop.example.com")
	installtest.Must(t, err)
	installtest.Contains(t, said, filepath.Join(dir, "main.go"), "Next: cd "+dir)
	installtest.Contains(t, string(installtest.OrPanic(os.ReadFile(filepath.Join(dir, "go.mod")))), "module shop.example.com/team-label", "pkg/hosting v0.1.0")
	installtest.Contains(t, string(installtest.OrPanic(os.ReadFile(filepath.Join(dir, "bundle/manifests/team-label.clusterserviceversion.yaml")))),
		"generateName: validate-pods.team-label.shop.example.com", "image: registry.shop.example.com/team-label:v0.1.0")
	_, err = run(dir, "--hosting-version", "v0.1.0")
	installtest.Error(t, dir+" is not empty: it has .github. Name a new directory, or one that only has .git, so that no file of yours is replaced", err)
}

// The next step can be copied, also for a directory whose name a shell splits.
func TestInitInQuotedDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "my ops", "team label")
	t.Setenv("GOWORK", "/other.work")
	said, err := run(dir, "--name", "team-label", "--hosting-version", "v0.1.0")
	installtest.Must(t, err)
	installtest.Contains(t, said, "Next: cd '"+dir+"' && go mod tidy", "Run: go work use '"+dir+"',")
}

// A clone of Windows has CRLF at the ends of lines.
func TestInitWithClone(t *testing.T) {
	for name, text := range map[string]string{
		"a clone":            "module github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting\n\ngo 1.26.3\n",
		"a clone of Windows": "module github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting\r\n\r\ngo 1.26.3\r\n",
		"a comment":          "// The library.\nmodule \"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting\" // hosting\n",
	} {
		t.Run(name, func(t *testing.T) {
			clone, dir := t.TempDir(), filepath.Join(t.TempDir(), "team-label")
			installtest.Must(t, os.WriteFile(filepath.Join(clone, "go.mod"), []byte(text), 0o600))
			_, err := run(dir, "--hosting-dir", clone)
			installtest.Must(t, err)
			file := installtest.OrPanic(modfile.Parse("go.mod", installtest.OrPanic(os.ReadFile(filepath.Join(dir, "go.mod"))), nil))
			installtest.Same(t, "replacement", clone, file.Replace[0].New.Path)
		})
	}
}

// An author can create the repository first. A refused or failed command keeps it.
func TestInitInRepository(t *testing.T) {
	for name, create := range map[string]func(path string) error{
		"a repository":      func(path string) error { return os.Mkdir(path, 0o700) },
		"a linked worktree": func(path string) error { return os.WriteFile(path, []byte("gitdir: elsewhere\n"), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "team-label")
			installtest.Must(t, os.Mkdir(dir, 0o700))
			installtest.Must(t, create(filepath.Join(dir, ".git")))
			said, err := run(dir, "--hosting-version", "v0.1.0")
			installtest.Must(t, err)
			installtest.Contains(t, said, filepath.Join(dir, "main.go"), "Next: cd "+dir)
			_, err = run(dir, "--hosting-version", "v0.1.0")
			installtest.Error(t, dir+" is not empty: it has .github", err)

			installtest.Must(t, remove(dir, true))
			entries := installtest.OrPanic(os.ReadDir(dir))
			if len(entries) != 1 || entries[0].Name() != ".git" {
				t.Errorf("a failed command leaves %v", entries)
			}
		})
	}
}

// Go commands below a workspace fail for a module that the workspace does not use.
func TestInitBelowWorkspace(t *testing.T) {
	root := t.TempDir()
	file := filepath.Join(root, "go.work")
	dir := filepath.Join(root, "operators", "team-label")
	for name, test := range map[string]struct {
		variable, notes string
		exists          bool
	}{
		"no workspace":                  {},
		"a workspace":                   {exists: true, notes: file},
		"a workspace that is ignored":   {exists: true, variable: "off"},
		"a workspace of the variable":   {variable: filepath.Join(root, "other.work"), notes: filepath.Join(root, "other.work")},
		"a variable without a meaning":  {variable: "auto"},
		"a variable, and the workspace": {exists: true, variable: "auto", notes: file},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("GOWORK", test.variable)
			installtest.Must(t, os.RemoveAll(file))
			if test.exists {
				installtest.Must(t, os.WriteFile(file, []byte("go 1.26\n"), 0o600))
			}
			installtest.Must(t, os.RemoveAll(dir))
			said, err := run(dir, "--hosting-version", "v0.1.0")
			installtest.Must(t, err)
			if test.notes == "" {
				if strings.Contains(said, "workspace") {
					t.Errorf("the output is\n%s", said)
				}
				return
			}
			installtest.Contains(t, said, "\nNote: ", test.notes, "un: go work use "+dir)
		})
	}
	makefile := string(installtest.OrPanic(os.ReadFile(filepath.Join(dir, "Makefile"))))
	installtest.Contains(t, makefile, "export GOWORK ?= off\n")
}

// The version of pkg/hosting is that of a program that was released, also before a version. A commit has none.
func TestReleaseOfProgram(t *testing.T) {
	for version, want := range map[string]string{
		"v0.1.0":                               "v0.1.0",
		"v0.2.0-rc.1":                          "v0.2.0-rc.1",
		"v0.1.0-3-g0123456":                    "",
		"v0.2.0-rc.1-3-g0123456":               "",
		"v0.1.0-dirty":                         "",
		"v0.1.0+dirty":                         "",
		"v0.0.0-20261123064401-0123456789ab":   "",
		"v0.1.1-0.20261123064401-0123456789ab": "",
		"0123456":                              "",
		"unknown":                              "",
	} {
		installtest.Same(t, "the release of the program "+version, want, release(version))
	}
}

// A refused command writes nothing.
func TestInitRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		arguments []string
		says      string
	}{
		"no release":           {nil, "--hosting-version: this program is not a release"},
		"a version without v":  {[]string{"--hosting-version", "0.1.0"}, `--hosting-version "0.1.0": use a semantic version of github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting, such as v0.1.0`},
		"a name with a dot":    {[]string{"--name", "team.label"}, `--name "team.label", by default the name of DIR: use up to 56 lower case letters`},
		"a name of YAML":       {[]string{"--name", "on"}, `--name "on": YAML does not read it as a text`},
		"no domain":            {[]string{"--domain", "local"}, `--domain "local": use a DNS domain of yours`},
		"an unknown type":      {[]string{"--type", "auditing"}, `--type "auditing": use one or several of validating, mutating, conversion`},
		"a URL":                {[]string{"--module", "https://example.com/x"}, `--module "https://example.com/x", by default DOMAIN/NAME: use the path of a Go module`},
		"no module":            {[]string{"--hosting-dir", "absent"}, "--hosting-dir: name the directory pkg/hosting of a clone"},
		"another module":       {[]string{"--hosting-dir", "../../../.."}, `has the Go module "github.com/olm-webhook-manager/olm-webhook-manager": name the directory pkg/hosting of a clone`},
		"a reserved name":      {[]string{"--name", "con"}, `--name "con", by default the name of DIR: Windows reserves this name`},
		"a long name":          {[]string{"--name", strings.Repeat("a", 57)}, "use up to 56 lower case letters"},
		"a module with a dot":  {[]string{"--module", "example.com/x."}, `--module "example.com/x.", by default DOMAIN/NAME: use the path of a Go module, such as example.com/team-label: `},
		"a short name":         {[]string{"--module", "example.com/x~1"}, `--module "example.com/x~1"`},
		"a reserved element":   {[]string{"--module", "example.com/nul/x"}, `--module "example.com/nul/x"`},
		"a standard package":   {[]string{"--module", "fmt"}, `--module "fmt"`},
		"a wrong major":        {[]string{"--module", "example.com/x/v1"}, `--module "example.com/x/v1"`},
		"a protected group":    {[]string{"--domain", "k8s.io", "--type", "conversion"}, `--domain "k8s.io": the API server refuses a CustomResourceDefinition of the group team-label.k8s.io`},
		"another such group":   {[]string{"--domain", "x.kubernetes.io", "--type", "conversion"}, `--domain "x.kubernetes.io"`},
		"a name without tag":   {[]string{"--image", "localhost/x"}, `--image "localhost/x": the image has no tag`},
		"a port without tag":   {[]string{"--image", "localhost:5000/x"}, "the image has no tag"},
		"two slashes":          {[]string{"--image", "a//b:v1"}, `--image "a//b:v1": use the name and the tag of an image`},
		"two colons":           {[]string{"--image", "shop::v1"}, `--image "shop::v1": use the name and the tag of an image`},
		"a digest":             {[]string{"--image", "shop@sha256:" + strings.Repeat("0", 64)}, "make image builds the image, whose digest is not known before"},
		"a tag and a digest":   {[]string{"--image", "shop:v1@sha256:" + strings.Repeat("0", 64)}, "whose digest is not known before"},
		"a leading zero":       {[]string{"--hosting-version", "v01.1.0"}, `--hosting-version "v01.1.0": use a semantic version`},
		"an empty identifier":  {[]string{"--hosting-version", "v0.1.0-01..x"}, `--hosting-version "v0.1.0-01..x"`},
		"a part of a version":  {[]string{"--hosting-version", "v0.1"}, `--hosting-version "v0.1"`},
		"another major":        {[]string{"--hosting-version", "v2.0.0"}, `--hosting-version "v2.0.0"`},
		"an image and a shell": {[]string{"--image", "shop:1;ls"}, `--image "shop:1;ls"`},
		"an image without tag": {[]string{"--image", "registry.example.com/shop:"}, `--image "registry.example.com/shop:"`},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "team-label")
			arguments := append([]string{dir}, test.arguments...)
			if name != "no release" {
				arguments = slices.Concat([]string{"--hosting-version", "v0.1.0"}, arguments)
			}
			_, err := run(arguments...)
			if err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("the error is %v", err)
			}
			if _, err := os.Stat(dir); !os.IsNotExist(err) {
				t.Errorf("the directory was written: %v", err)
			}
		})
	}
}
