package integration

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller"
)

// The manager exports how many requests passed an open webhook that did not answer, also while only some requests pass.
func TestRequestsThatPassAreCounted(t *testing.T) {
	o := newCounted(t)
	o.stop()
	o.manager = o.manage(func(options *controller.Options) { o.reads(options); shortly(options) })
	o.eventually("the manager counts calls", func() (bool, any) {
		_ = o.call("first")
		return o.exported("olm_webhook_manager_webhook_calls_total") > 0, nil
	})
	o.edit("operator.v1", func(c *operatorsv1alpha1.ClusterServiceVersion) {
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, wellknown.AnnotationFailOpenAfter, "30s")
	})
	o.must(o.kube.DiscoveryV1().EndpointSlices(o.namespace).Delete(o.ctx, "server-service-server-0", metav1.DeleteOptions{}))
	o.refuses()
	passed, refused := 0.0, 0.0
	o.eventually("twenty requests pass", func() (bool, any) {
		if o.call("first") == nil {
			passed++
		} else {
			refused++
		}
		return passed == 20, webhookStatus(o.env, "operator.v1", o.webhook).FailOpen
	})
	same(t, "the state", webhookStatus(o.env, "operator.v1", o.webhook).FailOpen.State, partly)
	o.eventually("all failed calls are counted", func() (bool, any) { n := o.failed(); return n == passed+refused, fmt.Sprint(n, passed, refused) })
	same(t, "those of requests that passed", o.exported("olm_webhook_manager_webhook_failed_calls_admitted_total"), passed)
}
