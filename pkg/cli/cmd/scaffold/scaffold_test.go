package scaffold

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

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
	installtest.Error(t, dir+" is not empty: name a new directory, so that no file of yours is replaced", err)
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
		"a version without v":  {[]string{"--hosting-version", "0.1.0"}, `--hosting-version "0.1.0": use a version such as v0.1.0`},
		"a name with a dot":    {[]string{"--name", "team.label"}, `--name "team.label": a DNS-1035 label`},
		"a name of YAML":       {[]string{"--name", "on"}, `--name "on": YAML does not read it as a text`},
		"no domain":            {[]string{"--domain", "local"}, `--domain "local": use a DNS domain of yours`},
		"an unknown type":      {[]string{"--type", "auditing"}, `--type "auditing": use one or several of validating, mutating, conversion`},
		"a URL":                {[]string{"--module", "https://example.com/x"}, `--module "https://example.com/x": use the path of a Go module`},
		"no module":            {[]string{"--hosting-dir", "absent"}, "--hosting-dir: name the directory pkg/hosting of a clone"},
		"another module":       {[]string{"--hosting-dir", "../../../.."}, `has the Go module "github.com/olm-webhook-manager/olm-webhook-manager": name the directory pkg/hosting of a clone`},
		"an image and a shell": {[]string{"--image", "shop:1;ls"}, `--image "shop:1;ls"`},
		"an image without tag": {[]string{"--image", "registry.example.com/shop:"}, `--image "registry.example.com/shop:"`},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "team-label")
			arguments := append([]string{dir}, test.arguments...)
			if name != "no release" && name != "a version without v" {
				arguments = append(arguments, "--hosting-version", "v0.1.0")
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
