package hosting

import (
	"strings"
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/hostingtest"
)

func TestSelectNames(t *testing.T) {
	known := []string{"a", "b", "c"}
	for selectors, want := range map[string][]string{
		"":        nil,
		"*":       {"a", "b", "c"},
		"b":       {"b"},
		"*,-b":    {"a", "c"},
		"-b,*":    {"a", "c"},
		"-b":      nil,
		"*,b,-b":  {"a", "b", "c"},
		"c,a":     {"a", "c"},
		"*,-a,-c": {"b"},
	} {
		t.Run(selectors, func(t *testing.T) {
			got, err := selectNames("webhooks", split(selectors), known)
			hostingtest.Must(t, err)
			hostingtest.Same(t, "selection", want, got)
		})
	}
	for _, unknown := range []string{"d", "*,d", "-d", "-", "--a", "A"} {
		t.Run("unknown "+unknown, func(t *testing.T) {
			names, err := selectNames("webhooks", split(unknown), known)
			if err == nil {
				t.Fatalf("selected %v", names)
			}
			for _, part := range []string{"--webhooks", `"a"`, `"c"`} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q lacks %s", err, part)
				}
			}
		})
	}
}

func split(selectors string) []string {
	if selectors == "" {
		return nil
	}
	return strings.Split(selectors, ",")
}
