package groups

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/records"
)

// A refused label is shown with any code of the denial.
func TestRefusedLabel(t *testing.T) {
	denied := &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: 409, Reason: metav1.StatusReasonConflict,
		Message: `admission webhook "policy.example.com" denied the request: no`,
	}}
	for _, err := range []error{denied, apierrors.NewForbidden(corev1.Resource("namespaces"), "shop", nil)} {
		r := &Reconciler{LabelRefusals: &records.LabelRefusals{}}
		r.recordRefusal("shop", []string{"label"}, "", err)
		if r.LabelRefusals.Of("label")["shop"] == "" {
			t.Errorf("%v: the refused label of the Namespace is not shown", err)
		}
	}
}
