package integration

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/clients"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/uninstall"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// setMarks gives a ClusterServiceVersion labels and annotations, in JSON.
func setMarks(e *env, csv, labels, annotations string) {
	e.Helper()
	kube.Patch(e, e.olm.ClusterServiceVersions(e.namespace), csv, types.MergePatchType,
		fmt.Appendf(nil, `{"metadata": {"labels": {%s}, "annotations": {%s}}}`, labels, annotations))
}

// A client that may edit an original cannot hide it from the manager with the label of copies, which OLM v0 would take
// as a reason to delete it.
func TestNoMarkHidesAnOriginal(t *testing.T) {
	for name, test := range map[string]struct{ labels, annotations string }{
		"the label":              {`"olm.copiedFrom": "elsewhere"`, ``},
		"the label, empty":       {`"olm.copiedFrom": ""`, ``},
		"the annotation":         {``, `"olm.operatorNamespace": "elsewhere"`},
		"all marks of our copy":  {`"olm.copiedFrom": "elsewhere"`, `"olm.operatorNamespace": "elsewhere", "olm-webhook-manager.io/copied-state": "1.2"`},
		"while no manager works": {`"olm.copiedFrom": "elsewhere"`, `"olm.operatorNamespace": "elsewhere"`},
	} {
		t.Run(name, func(t *testing.T) {
			e, m := newRunningOperator(t)
			stopped := name == "while no manager works"
			if stopped {
				m.stop()
			}
			setMarks(e, "operator.v1", test.labels, test.annotations)
			if stopped {
				e.manage()
			}
			e.eventually("the marks are removed", func() (bool, any) {
				csv := e.get("operator.v1")
				_, labelled := csv.Labels["olm.copiedFrom"]
				return !labelled && csv.Annotations["olm.operatorNamespace"] == e.namespace, csv.ObjectMeta
			})
			e.must(e.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations().Delete(e.ctx, e.registration("v.example.com").Name, metav1.DeleteOptions{}))
			e.eventually("the webhook is registered again", func() (bool, any) { return len(e.owned(clusterScoped)) == 1, nil })
			setMarks(e, "operator.v1", test.labels, test.annotations)
			e.uninstall("operator.v1")
			leavesNothing(e)
		})
	}
}

// The manager does not remove the label without limit.
func TestLabelOfCopiesIsContested(t *testing.T) {
	e, m := newRunningOperator(t)
	label := func() { setMarks(e, "operator.v1", `"olm.copiedFrom": "elsewhere"`, ``) }
	for range 4 {
		label()
		e.eventually("the label is removed", func() (bool, any) { return e.get("operator.v1").Labels["olm.copiedFrom"] == "", nil })
	}
	m.emits("Warning Contested")
	m.looksAfter(label)
	same(t, "the label while the manager pauses", e.get("operator.v1").Labels["olm.copiedFrom"], "elsewhere")
}

// The removal of the manager does not leave an original with the label of copies and the finalizer behind, and does not
// modify copies.
func TestManagerRemovedWithLabelledOriginal(t *testing.T) {
	e, m := newRunningOperator(t)
	m.stop()
	setMarks(e, "operator.v1", `"olm.copiedFrom": "elsewhere"`, `"olm.operatorNamespace": "elsewhere"`)
	copied := asByOLM(e, csv("copy.v1", "server"), "elsewhere", func(*operatorsv1alpha1.ClusterServiceVersion) {})
	e.must(uninstall.Manager(e.ctx, installtest.OrPanic(clients.New(cluster.Config())), logger(), e.namespace))
	registersNothing(e)
	none(t, "finalizers", e.get("operator.v1").Finalizers)
	same(t, "resourceVersion of the copy", e.get("copy.v1").ResourceVersion, copied.ResourceVersion)
}
