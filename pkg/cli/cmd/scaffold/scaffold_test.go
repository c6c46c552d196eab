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

// A refused command writes nothing.
func TestInitRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		arguments []string
		says      string
	}{
		"no release":              {nil, "--hosting-version: this program is no release"},
		"a name with a dot":       {[]string{"--name", "team.label", "--hosting-version", "v0.1.0"}, `--name "team.label": a DNS-1035 label`},
		"no domain":               {[]string{"--domain", "local", "--hosting-version", "v0.1.0"}, `--domain "local": use a DNS domain of yours`},
		"an unknown type":         {[]string{"--type", "auditing", "--hosting-version", "v0.1.0"}, `--type "auditing": use one or several of validating, mutating, conversion`},
		"no module":               {[]string{"--hosting-dir", "absent"}, "--hosting-dir: it is no Go module"},
		"an image with a comment": {[]string{"--image", "shop:1 #", "--hosting-version", "v0.1.0"}, `--image "shop:1 #"`},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "team-label")
			_, err := run(append([]string{dir}, test.arguments...)...)
			if err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("the error is %v", err)
			}
			if _, err := os.Stat(dir); !os.IsNotExist(err) {
				t.Errorf("the directory was written: %v", err)
			}
		})
	}
}
