package lint

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle/internal/need"
)

// FuzzWaivers reads a file of waivers of any text, and applies what it holds.
func FuzzWaivers(f *testing.F) {
	for _, text := range []string{
		"", "waivers:\n- code: one-replica\n  reason: because\n", "waivers: [{code: a, path: b, file: c, what: d, reason: e}]", "waivers: [", "waivers: {a: *a}",
		"a: &a [x, x]\nb: &b [*a, *a]\n", "waivers:\n" + strings.Repeat("- {code: one-replica, reason: because}\n", 100),
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > need.MaxInput {
			return
		}
		file := filepath.Join(t.TempDir(), "waivers.yaml")
		must(t, os.WriteFile(file, text, 0o600))
		need.Limited(t, func() {
			waivers, err := ReadWaivers(file)
			if err != nil && waivers != nil {
				t.Errorf("%v, and %d waivers", err, len(waivers))
			}
			waive([]Finding{{Code: "one-replica"}}, waivers)
		})
	})
}
