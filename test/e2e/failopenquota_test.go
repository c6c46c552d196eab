package e2e

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/calls"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// A tenant fills the quota of the operator's namespace and deletes its pods. The webhook opens for the time that the
// administrator allows, and then refuses requests while its pods are lost.
func TestTenantFillsTheQuota(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	csv := hookCSV("hook.v1", server("hook"))
	csv.Annotations = map[string]string{wellknown.AnnotationFailOpenAfter: "30s", wellknown.AnnotationFailOpenFor: "1m"}
	e.create(csv)
	e.succeeds("hook.v1")
	w := startWriter(e)
	w.eventually("the webhook refuses objects", func() (bool, any) { return w.count(refused) > 5, w.outcomes() })

	quota := kube.Create(e, kubeClient.CoreV1().ResourceQuotas(e.namespace), &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "full"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}},
	})
	e.must(kubeClient.CoreV1().Pods(e.namespace).DeleteCollection(e.ctx, metav1.DeleteOptions{}, metav1.ListOptions{}))
	w.eventually("the webhook is open", func() (bool, any) { f := failOpenOf(e); return f.IsOpen(), f })
	w.eventually("it is closed", func() (bool, any) { f := failOpenOf(e); return !f.IsOpen(), f })
	opening := failOpenOf(e).Openings[0]
	installtest.Same(t, "why it closed", managerv1alpha1.ClosedTimeOver, opening.ClosedBy)
	if lasted := opening.Until.Sub(opening.From.Time); lasted > time.Minute+2*time.Second { // The record includes the settle time.
		t.Errorf("it was open for %s", lasted)
	}

	unanswered := w.count(failed)
	w.eventually("a request fails", func() (bool, any) { return w.count(failed) > unanswered, w.outcomes() })
	passed := w.count(stored)
	w.eventually("requests fail", func() (bool, any) { return w.count(failed) > unanswered+100, w.outcomes() })
	installtest.Same(t, "the number of stored objects", passed, w.count(stored))
	installtest.Same(t, "the number of openings", 1, len(failOpenOf(e).Openings))

	e.must(kubeClient.CoreV1().ResourceQuotas(e.namespace).Delete(e.ctx, quota.Name, metav1.DeleteOptions{}))
	scale(e, "hook", 3) // So that the controller does not wait before it tries again.
	callsAre(e, calls.Denied)
}
