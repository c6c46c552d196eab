package integration

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// An installation costs these requests and no other: each object is written once, nothing
// is read that a watch shows, and each status is written once when the installation waits
// and once when it is over. Events are not counted: these managers send none.
func TestInstallationCostsTheseRequests(t *testing.T) {
	e := newParallelEnv(t)
	e.group("og", allNamespaces)
	m := e.manage()
	e.eventually("the manager has filled its caches", func() (bool, any) { return m.passes("OperatorGroup") > 0, nil })
	since := e.auditEnd()
	e.create(csv("operator.v1", "server"))
	e.reaches("operator.v1", operatorsv1alpha1.CSVPhaseInstalling, operatorsv1alpha1.CSVReasonWaiting)
	e.setAvailable("server", true)
	e.succeeds("operator.v1")
	m.looksAgain("operator.v1")

	want := []string{
		"create deployments",
		"create rolebindings", // for the Secret, and for the OperatorCondition
		"create rolebindings",
		"create roles",
		"create roles",
		"create secrets",
		"create services",
		"create validatingwebhookconfigurations",
		"create webhookrollouts",
		"patch clusterserviceversions",
		"patch operatorconditions",
		"update clusterserviceversions/status",
		"update clusterserviceversions/status",
		"update webhookrollouts/status",
		"update webhookrollouts/status",
	}
	if diff := cmp.Diff(want, m.requests(since)); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// requests are all that the manager sent for its ClusterServiceVersions since a place in
// the audit log, reads included, each as its verb and resource, in order. What an
// OperatorGroup and its Namespaces cost is not among them.
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
