package olm

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// rotates orders another certificate, and returns when nothing but that is served and trusted.
func (e *env) rotates(namespace, csv string) {
	e.Helper()
	before := e.certificate(namespace, csv).Generation
	order := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, wellknown.AnnotationRotate, time.Now().Format(time.RFC3339Nano))
	kube.Patch(e, olmClient.ClusterServiceVersions(namespace), csv, types.MergePatchType, []byte(order))
	e.eventually(csv+" serves another certificate, and trusts nothing else", func() (bool, any) {
		c := e.certificate(namespace, csv)
		return c.Phase == managerv1alpha1.CertificateStable && c.Generation == before+1, c
	})
}

// certificate is that of the first Deployment with one.
func (e *env) certificate(namespace, csv string) managerv1alpha1.CertificateStatus {
	e.Helper()
	for _, d := range kube.Get(e, olmClient.WebhookRollouts(namespace), csv).Status.Deployments {
		if d.Certificate != nil {
			return *d.Certificate
		}
	}
	return managerv1alpha1.CertificateStatus{}
}
