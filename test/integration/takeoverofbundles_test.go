package integration

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// examples are the bundles of this repository, except the first version of crdconversion: its second version owns the same
// definition.
var examples = []string{"crdconversion/bundle-v2", "poddefaults/bundle", "projectpolicy/bundle", "volumelabels/bundle-one-process", "volumelabels/bundle-two-processes"}

func foldersOfExamples() []string {
	var all []string
	for _, name := range examples {
		all = append(all, filepath.Join("..", "..", "examples", name))
	}
	return all
}

func foldersOfCorpus(t *testing.T) []string {
	t.Helper()
	corpus := os.Getenv("BUNDLES")
	if corpus == "" {
		t.Skip("BUNDLES is not set: no bundles of other projects")
	}
	all, err := filepath.Glob(filepath.Join(corpus, "*", "*"))
	if err != nil || len(all) == 0 {
		t.Fatalf("no bundle in %s: %v", corpus, err)
	}
	return all
}

func TestTakeoverPlanOfExamples(t *testing.T) { planIsWhatRunDoes(t, foldersOfExamples()) }

func TestTakeoverPlanOfBundles(t *testing.T) { planIsWhatRunDoes(t, foldersOfCorpus(t)) }

func planIsWhatRunDoes(t *testing.T, folders []string) {
	t.Helper()
	e, bundles := newTakeoverOfBundles(t, folders...)
	out, err := e.run(proxy(e.env, nil), "plan")
	t.Logf("%v\n%s", err, out)
	e.must(err)
	e.completes("run")
	for _, b := range bundles {
		e.running.looksAgainAt(b)
	}
	for _, event := range kube.Writes(e.running.audited(e.running.started), e.running.userAgent) {
		t.Logf("%s %s/%s %s/%s %d", event.Verb, event.ObjectRef.Resource, event.ObjectRef.Subresource, event.ObjectRef.Namespace, event.ObjectRef.Name, event.ResponseStatus.Code)
	}
	_ = slices.Sorted[string]
	_ = strings.Join
}

func (m *manager) looksAgainAt(b *bundleUnderOLM) {
	m.Helper()
	for range 3 {
		m.looksAfter(func() { touch(b.env, b.csv) })
	}
}
