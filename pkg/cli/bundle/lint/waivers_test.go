package lint

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/output"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestWaivers(t *testing.T) {
	finding := Finding{Level: Warning, Code: "one-replica", Path: "spec.a[0].b", File: "a.yaml", What: "the one pod is away"}
	for name, c := range map[string]struct {
		waiver Waiver
		waived bool
	}{
		"by code":                       {Waiver{Code: "one-replica", Reason: "because"}, true},
		"of another code":               {Waiver{Code: "no-rules", Reason: "because"}, false},
		"of the field":                  {Waiver{Code: "one-replica", Path: "spec.a[0]", Reason: "because"}, true},
		"of another field":              {Waiver{Code: "one-replica", Path: "spec.a[1]", Reason: "because"}, false},
		"of the file":                   {Waiver{Code: "one-replica", File: "a.yaml", Reason: "because"}, true},
		"of another file":               {Waiver{Code: "one-replica", File: "b.yaml", Reason: "because"}, false},
		"of findings with that text":    {Waiver{Code: "one-replica", What: "one pod", Reason: "because"}, true},
		"of findings with another text": {Waiver{Code: "one-replica", What: "two pods", Reason: "because"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			report := Report{Bundle: "b", Findings: waive([]Finding{finding}, []Waiver{c.waiver})}
			want := []string{"one-replica", "unused-waiver"}
			if c.waived {
				want = nil
			}
			installtest.Same(t, "what still counts", want, codes(report))
			var text strings.Builder
			report.Print(output.New(&text))
			installtest.Same(t, "waived in\n"+text.String(), c.waived, strings.Contains(text.String(), "waived: because"))
		})
	}
}

func TestReadWaivers(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"good":            {"waivers:\n- code: one-replica\n  reason: because\n", ""},
		"none":            {"", ""},
		"no reason":       {"waivers:\n- code: one-replica\n  reason: ' '\n", "waivers[0] has no reason"},
		"an unknown code": {"waivers:\n- code: two-replicas\n  reason: because\n", `"two-replicas", which is no code of a finding`},
		"a misspelt key":  {"waivers:\n- cod: one-replica\n  reason: because\n", `unknown field "cod"`},
		"an alias bomb":   {"a: &a [" + strings.Repeat("x,", 9999) + "]\nb: &b [" + strings.Repeat("*a,", 9999) + "]\nc: [" + strings.Repeat("*b,", 9999) + "]\n", "repeat too much"},
		"too many":        {"waivers:\n" + strings.Repeat("- {code: one-replica, reason: because}\n", 1001), "has 1001 waivers"},
		"too long":        {strings.Repeat("#", 1<<20) + "#", "has more than 1 MiB"},
		"no YAML":         {"waivers: [", "waivers.yaml: "},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "waivers.yaml")
			must(t, os.WriteFile(file, []byte(c.text), 0o600))
			waivers, err := ReadWaivers(file)
			for _, f := range waive(nil, waivers) {
				installtest.Same(t, "the file of a waiver that matches nothing", []string{file, file}, []string{f.File, f.artifact("bundle")})
			}
			installtest.Error(t, c.want, err)
		})
	}
	if waivers, err := ReadWaivers(filepath.Join(t.TempDir(), "nowhere")); waivers != nil || err != nil {
		t.Errorf("a file that is not there: %v, %v", waivers, err)
	}
}
