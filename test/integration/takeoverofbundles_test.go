package integration

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/takeover"
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

// The command and the manager write to the objects that the plan lists, and to no other object.
func TestTakeoverPlanOfExamples(t *testing.T) { planIsWhatRunDoes(t, foldersOfExamples()) }

// The same for the bundles of other projects, all in one cluster.
func TestTakeoverPlanOfBundles(t *testing.T) { planIsWhatRunDoes(t, foldersOfCorpus(t)) }

func planIsWhatRunDoes(t *testing.T, folders []string) {
	t.Helper()
	e, bundles := newTakeoverOfBundles(t, folders...)
	phases := map[string][]string{}
	for _, b := range bundles {
		phases[b.csv] = phasesOf(b.env, b.csv)
	}
	plan := e.plan()
	same(t, "the writes of the command", e.completes("run"), pathsOf(plan.Writes))
	e.running.rests()
	predicted, written := changedByPlan(plan), changedBy(e.running)
	for _, b := range bundles {
		t.Run(b.csv, func(t *testing.T) {
			if diff := cmp.Diff(in(b.namespace, predicted), in(b.namespace, written)); diff != "" {
				t.Errorf("objects that the manager writes (-plan +run):\n%s", diff)
			}
			same(t, "the phases", phasesOf(b.env, b.csv), phases[b.csv])
			takeoverIs(b.env, takeover.FormAdopted, b.deployments()...)
		})
	}
	none(t, "objects in no namespace of an operator", outsideOf(e, bundles, written))
}

// outsideOf returns the objects in no namespace of an operator, except Namespaces and Operators of earlier tests: the former
// lose the labels of their groups. The names of all namespaces of this test begin with the same text.
func outsideOf(e *takeoverEnv, bundles []*bundleUnderOLM, all []takeover.Object) []takeover.Object {
	return slices.DeleteFunc(all, func(o takeover.Object) bool {
		own := slices.ContainsFunc(bundles, func(b *bundleUnderOLM) bool { return b.namespace == o.Namespace })
		return own || (o.Kind == "namespaces" || o.Kind == "operators") && !strings.Contains(o.Name, e.namespace)
	})
}

// changedByPlan returns the objects that the manager is predicted to write. That includes the status of the CSVs.
func changedByPlan(plan takeover.Plan) (all []takeover.Object) {
	for _, c := range plan.CSVs {
		for _, change := range c.Changes {
			if change.When == takeover.DuringRun {
				all = append(all, change.Object)
			}
		}
	}
	return all
}

// changedBy returns the objects that a manager has written.
func changedBy(m *manager) (all []takeover.Object) {
	m.Helper()
	for _, event := range kube.Writes(m.audited(m.started), m.userAgent) {
		if event.ResponseStatus.Code < 400 {
			all = append(all, takeover.Object{Kind: kindOfResource(event.ObjectRef.Resource), Namespace: event.ObjectRef.Namespace, Name: event.ObjectRef.Name})
		}
	}
	return all
}

var kindsOfResources = map[string]string{
	"clusterserviceversions": takeover.KindCSV, "webhookrollouts": takeover.KindRollout, "deployments": takeover.KindDeployment,
	"secrets": "Secret", "services": "Service", "roles": "Role", "rolebindings": "RoleBinding", "serviceaccounts": "ServiceAccount", "operatorconditions": "OperatorCondition",
}

// kindOfResource returns the resource itself if the plan never lists it.
func kindOfResource(resource string) string {
	if kind := kindsOfResources[resource]; kind != "" {
		return kind
	}
	return resource
}

// in returns the objects in a namespace as sorted text, each once.
func in(namespace string, all []takeover.Object) (found []string) {
	for _, o := range all {
		if o.Namespace == namespace {
			found = append(found, o.String())
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}
