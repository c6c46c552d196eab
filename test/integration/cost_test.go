package integration

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// An installation costs exactly these requests: each object is written once, nothing is read that a watch shows, and
// each status is written once, or twice if it has to report what it waits for.
func TestInstallationCostsTheseRequests(t *testing.T) {
	for name, test := range map[string]struct {
		patience time.Duration
		until    operatorsv1alpha1.ClusterServiceVersionPhase // the Deployment is available
		more     []string
	}{
		"a quick one": {time.Hour, "", nil},
		"a slow one": {0, operatorsv1alpha1.CSVPhaseInstalling, []string{
			"update clusterserviceversions/status",
			"update webhookrollouts/status",
		}},
	} {
		t.Run(name, func(t *testing.T) { costs(t, test.patience, test.until, test.more) })
	}
}

func costs(t *testing.T, patience time.Duration, until operatorsv1alpha1.ClusterServiceVersionPhase, more []string) {
	e := newGroupEnv(t)
	m := e.manage(untilTheCachesShow, func(o *controller.Options) { o.Rollout.StatusDelay = patience })
	e.groupIsReported()
	since := auditEnd(e)
	e.create(csv("operator.v1", "server"))
	e.eventually("there is a Deployment", func() (bool, any) {
		_, err := e.kube.AppsV1().Deployments(e.namespace).Get(e.ctx, "server", metav1.GetOptions{})
		return err == nil && e.get("operator.v1").Status.Phase == until, err
	})
	serverStarts(e)
	m.looksAgain("operator.v1")

	want := append([]string{
		"create deployments",
		"create rolebindings", // for the Secret, and for the OperatorCondition
		"create rolebindings",
		"create roles",
		"create roles",
		"create secrets",
		"create services",
		"create validatingwebhookconfigurations",
		"create webhookrollouts",
		"list subscriptions", // once: the watches of two kinds are not ordered
		"patch clusterserviceversions",
		"create operatorconditions",
		"update clusterserviceversions/status",
		"update webhookrollouts/status",
	}, more...)
	slices.Sort(want)
	same(t, "requests", m.requests(since), want)
}

// untilTheCachesShow has no reconciliation repeat what the previous one wrote, however late the caches are.
func untilTheCachesShow(o *controller.Options) { o.CacheGrace = time.Hour }

// requests are the manager's requests for its ClusterServiceVersions, reads included, as verb and resource in order.
// Those for OperatorGroups and their Namespaces are not among them.
func (m *manager) requests(since int64) []string {
	m.Helper()
	var requests []string
	for _, event := range m.audited(since) {
		o := event.ObjectRef
		if o == nil || event.Verb == "watch" || o.Resource == "operatorgroups" || o.Resource == "namespaces" {
			continue
		}
		requests = append(requests, event.Verb+" "+strings.TrimSuffix(o.Resource+"/"+o.Subresource, "/"))
	}
	slices.Sort(requests)
	return requests
}

// A reconciliation that changes nothing writes nothing and reports nothing, independent of what triggered it: a change
// that does not matter to any of its objects, or its own start.
func TestQuiet(t *testing.T) {
	e := newOwnNamespaceEnv(t)
	m := e.manage()
	e.install(bundle())
	m.looksAgain("operator.v1")

	if len(m.reported()) == 0 {
		t.Error("the manager reported nothing of an installation: does this test find anything?")
	}
	since := auditEnd(e)
	for _, o := range e.owned(derived) {
		m.looksAfter(func() {
			kube.Patch(e, client(e, o), o.GetName(), types.MergePatchType,
				[]byte(`{"metadata": {"labels": {"example.com/touched": "yes"}}}`))
		})
	}
	m.looksAfter(func() { labelNamespace(e, e.namespace, "touched", "yes") })
	m.looksAgain("operator.v1")
	m.writesNothing(since)
	none(t, "events although nothing changed", m.reported())

	m.stop()
	again := e.manage()
	again.eventually("the new manager has reconciled everything", func() (bool, any) {
		for _, kind := range []string{"ClusterServiceVersion", "OperatorGroup", "Namespace"} {
			if again.passes(kind) == 0 {
				return false, kind
			}
		}
		return true, nil
	})
	again.writesNothing(again.started)
	none(t, "events of a new manager although nothing changed", again.reported())
}
