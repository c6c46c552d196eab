package cluster

import (
	"errors"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	metadatafake "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/takeover"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// The empty selector of policy/v1 selects all pods, and no selector selects none.
func TestBlockingBudgets(t *testing.T) {
	server := map[string]string{"app": "server"}
	for name, test := range map[string]struct {
		selector *metav1.LabelSelector
		allowed  int32
		blocks   bool
	}{
		"of the pods":                      {&metav1.LabelSelector{MatchLabels: server}, 0, true},
		"of the pods, allows a disruption": {&metav1.LabelSelector{MatchLabels: server}, 1, false},
		"of other pods":                    {&metav1.LabelSelector{MatchLabels: map[string]string{"app": "other"}}, 0, false},
		"of all pods":                      {&metav1.LabelSelector{}, 0, true},
		"of all pods, allows a disruption": {&metav1.LabelSelector{}, 1, false},
		"without a selector":               {nil, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			budget := policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "pdb"}}
			budget.Spec.Selector, budget.Status.DisruptionsAllowed = test.selector, test.allowed
			w := namespaceWorkloads{budgets: []policyv1.PodDisruptionBudget{budget}}
			d := appsv1.Deployment{}
			d.Spec.Template.Labels = server
			installtest.Same(t, "it blocks", test.blocks, len(w.blocking(d)) > 0)
		})
	}
}

// A user who may not list PodDisruptionBudgets sees that they were not read.
func TestBudgetsUnread(t *testing.T) {
	for name, test := range map[string]struct {
		err    error
		unread bool
	}{
		"read":      {nil, false},
		"forbidden": {apierrors.NewForbidden(policyv1.Resource("poddisruptionbudgets"), "", errors.New("no")), true},
	} {
		t.Run(name, func(t *testing.T) {
			kube := fake.NewClientset()
			kube.PrependReactor("list", "poddisruptionbudgets", func(clienttesting.Action) (bool, runtime.Object, error) {
				return test.err != nil, nil, test.err
			})
			objects := metadatafake.NewTestScheme()
			installtest.Must(t, metav1.AddMetaToScheme(objects))
			reader := TakeoverReader{Cluster: &Cluster{Kube: kube, Metadata: metadatafake.NewSimpleMetadataClient(objects)}}
			s := takeover.Snapshot{CSVs: []takeover.CSV{{NamespacedName: types.NamespacedName{Namespace: "shop", Name: "a"}}}}
			installtest.Must(t, reader.Workloads(t.Context(), &s))
			installtest.Same(t, "budgets are not read", test.unread, s.CSVs[0].BudgetsUnread)
		})
	}
}
