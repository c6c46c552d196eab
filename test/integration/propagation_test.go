package integration

import (
	"context"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// Pods are given the next certificate as soon as each API server has observed that it is trusted, and not before.
func TestRotationAwaitsEachAPIServer(t *testing.T) {
	e := newOperatorEnv(t)
	another := cluster.AnotherAPIServer(t)
	servers := map[string]*rest.Config{"first": cluster.Config(), "second": another.Config()}
	runOperator(e, func(o *controller.Options) {
		o.Certificates.Settle = time.Hour
		o.APIServers = func(context.Context) (map[string]*rest.Config, error) { return servers, nil }
	})
	before := string(e.servingCA())
	another.Hold()
	e.order("once")
	e.rotationIs(managerv1alpha1.CertificateDistributing, "", "these API servers do not use the next certificate yet: second")
	same(t, "the CA that pods are given while an API server is behind", string(e.servingCA()), before)
	another.Release()
	becomes(e, "pods are given the next certificate", func() bool { return string(e.servingCA()) != before }, true)
	becomes(e, "the number of markers", func() int { return len(markersIn(e)) }, 0)
}

// markersIn returns the canaries of the namespace.
func markersIn(e *env) []string {
	e.Helper()
	list := kube.List(e, e.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations(), metav1.ListOptions{LabelSelector: wellknown.LabelCanary + "," + wellknown.LabelOwnerNamespace + "=" + e.namespace})
	return lists.Map(list.Items, func(c admissionregistrationv1.ValidatingWebhookConfiguration) string { return c.Name })
}
