package hosting_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/hostingtest"
)

func TestEveryFlagIsDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/author/hosting.md")
	hostingtest.Must(t, err)
	_, reference, found := strings.Cut(string(page), "## All flags")
	if !found {
		t.Fatal("there is no reference of flags")
	}
	b := hosting.NewBuilder("documented")
	b.RegisterWebhook("pods", hosting.Webhook{Kinds: pods, Handler: hosting.Validating(func(context.Context, hosting.Request[*corev1.Pod]) error { return nil })})
	b.RegisterController("worker", func(context.Context, hosting.Environment) error { return nil })
	flags := b.Command().Flags()
	flags.VisitAll(func(f *pflag.Flag) {
		if !strings.Contains(reference, "`--"+f.Name+"`") {
			t.Errorf("the reference misses --%s: %s", f.Name, f.Usage)
		}
	})
	for _, words := range strings.Split(reference, "`") {
		if name, isFlag := strings.CutPrefix(words, "--"); isFlag && name != "help" && flags.Lookup(name) == nil {
			t.Errorf("the reference has --%s, and the command has not", name)
		}
	}
}
