package integration

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller"
)

// A registration that a client takes the labels off is called as before: the settle time
// counts for it, too, and pods are given no certificate that it may not trust yet.
func TestRotationBesideAnUnlabelledRegistration(t *testing.T) {
	e := newOperatorEnv(t)
	runOperator(e, func(o *controller.Options) { o.Certificates.Settle = time.Hour })
	before := e.servingCA()
	e.order("once")
	e.eventually("API servers are given time to learn", func() (bool, any) {
		c := rotation(e)
		return c.Phase == managerv1alpha1.CertificateDistributing && strings.Contains(c.Message, "API servers are given time"), c
	})
	registration := e.registration("v.example.com")
	stripped := map[string]any{}
	for label := range registration.Labels {
		stripped[label] = nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": stripped}})
	e.must(err)
	_, err = e.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations().Patch(e.ctx, registration.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "somebody"})
	e.must(err)
	e.eventually("the labels are back", func() (bool, any) {
		found := registered(e)
		return len(found) == 1, found
	})
	if string(e.servingCA()) != string(before) {
		t.Error("pods are given the next certificate before the settle time is over")
	}
}
