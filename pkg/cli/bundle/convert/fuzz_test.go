package convert

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle/internal/need"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// FuzzConvert converts any text. What is converted is a bundle that can be read, in the directories of a bundle.
func FuzzConvert(f *testing.F) {
	for _, file := range installtest.OrPanic(filepath.Glob("testdata/*.yaml")) {
		f.Add(string(installtest.OrPanic(os.ReadFile(file))))
	}
	f.Add(with(shop, service, webhook, certificate))
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > need.MaxInput {
			return
		}
		var result Result
		need.Limited(t, func() {
			objects, _, err := Read(map[string][]byte{"all.yaml": []byte(text)})
			if err != nil {
				return
			}
			result, _ = Convert(objects, Options{Name: "shop", Version: "1.0.0", Channel: "stable"})
		})
		for name := range result.Files {
			if filepath.Clean(name) != name || !strings.HasPrefix(name, "manifests/") && !strings.HasPrefix(name, "metadata/") {
				t.Errorf("writes %q", name)
			}
		}
		if len(result.Files) == 0 {
			return
		}
		for _, p := range bundleOf(result).Problems {
			if p.Kind.Fatal() {
				t.Errorf("the bundle cannot be read: %s", p)
			}
		}
	})
}
