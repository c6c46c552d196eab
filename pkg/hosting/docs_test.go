package hosting_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

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
	flags := sweeperAndPods().Command().Flags()
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

// The conformance tests run the sample.
func TestStaticPodHasTimeToDrain(t *testing.T) {
	data, err := os.ReadFile("testdata/static-pod.yaml")
	hostingtest.Must(t, err)
	var pod corev1.Pod
	hostingtest.Must(t, yaml.UnmarshalStrict(data, &pod))
	b := hosting.NewBuilder("volumelabels")
	b.Flags().String("volumes", "", "as in examples/volumelabels")
	b.RegisterController("persistentvolumes", idle)
	b.RegisterWebhook("persistentvolumes", hosting.Webhook{Kinds: pods, Handler: hosting.Validating(admitAll)})
	flags := b.Command().Flags()
	hostingtest.Must(t, flags.Parse(pod.Spec.Containers[0].Args))
	var drain time.Duration
	for _, name := range []string{"drain-period", "drain-timeout"} {
		d, err := flags.GetDuration(name)
		hostingtest.Must(t, err)
		drain += d
	}
	if grace := time.Duration(*pod.Spec.TerminationGracePeriodSeconds) * time.Second; grace <= drain {
		t.Errorf("the kubelet waits %s for a server that drains for up to %s", grace, drain)
	}
}
