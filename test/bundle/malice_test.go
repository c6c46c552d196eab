package bundle

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
)

// A bundle that tries everything is shown and refused, and nothing of it is written before.
func TestMaliceIsRefused(t *testing.T) {
	const malice = "../../pkg/cli/bundle/testdata/malice"
	e := newEnv(t)
	before := e.existing(t, malice)
	for _, flags := range [][]string{
		nil,
		{"--allow-kind=MutatingWebhookConfiguration.admissionregistration.k8s.io,ValidatingAdmissionPolicy.admissionregistration.k8s.io,APIService.apiregistration.k8s.io,OperatorGroup.operators.coreos.com,Namespace"},
		{"--dry-run=server"},
	} {
		out, err := webhooks(t, append([]string{"bundle", "install", malice, "--yes"}, flags...)...).CombinedOutput()
		for _, want := range []string{"Group system:authenticated", "all.evil.example.com", "system-cluster-critical", "ClusterRole.rbac.authorization.k8s.io   view", "nothing was changed: the bundle has objects that are refused"} {
			if err == nil || !strings.Contains(string(out), want) {
				t.Errorf("%v: %v, and %q is not shown:\n%s", flags, err, want, out)
			}
		}
	}
	if diff := cmp.Diff(before, e.existing(t, malice)); diff != "" {
		t.Errorf("objects of the bundle that exist (-before +after)\n%s", diff)
	}
}

// existing are the objects of a bundle that is refused which exist in the cluster, with their
// resourceVersions: a few have names of the cluster's own.
func (e *env) existing(t *testing.T, dir string) []string {
	t.Helper()
	b, err := bundle.Inspect(dir)
	must(t, err)
	_, err = bundle.Manifests(b, bundle.Options{})
	var refused *bundle.RefusedError
	if !errors.As(err, &refused) {
		t.Fatal(err)
	}
	var names []string
	for _, o := range refused.Manifests {
		resource, err := e.resource(o)
		if meta.IsNoMatchError(err) {
			continue
		}
		must(t, err)
		if live, err := resource.Get(t.Context(), o.GetName(), metav1.GetOptions{}); err == nil {
			names = append(names, o.GetKind()+" "+o.GetName()+" "+live.GetResourceVersion())
		}
	}
	return names
}
