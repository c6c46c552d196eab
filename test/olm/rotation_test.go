package olm

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/calls"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/olm/catalog"
)

// An upgrade from the catalog begins during a rotation, and a rotation during an upgrade. No call fails.
func TestRotationDuringAnUpgrade(t *testing.T) {
	for name, overlap := range map[string]func(e *env, v1, v2 string){
		"the upgrade begins during the rotation": func(e *env, v1, _ string) {
			e.orders(e.namespace, v1)
			e.eventually("the rotation has begun", func() (bool, any) {
				c := e.certificate(e.namespace, v1)
				return c.Phase != managerv1alpha1.CertificateStable, c
			})
			e.changes("volumelabels", map[string]any{"channel": "new"})
		},
		"the rotation begins during the upgrade": func(e *env, v1, v2 string) {
			e.changes("volumelabels", map[string]any{"channel": "new"})
			e.reaches(v2, operatorsv1alpha1.CSVPhaseInstalling)
			e.orders(e.namespace, v1)
			e.orders(e.namespace, v2)
		},
	} {
		t.Run(name, func(t *testing.T) {
			e, o := newExample(t, "volumelabels")
			v1 := e.example(o.bundle).Release("0.1.0")
			v2 := v1.Release("0.2.0")
			e.serve(catalog.Package{
				Name: v1.Package, DefaultChannel: "new", Bundles: []catalog.Bundle{v1, v2},
				Channels: []catalog.Channel{catalog.Chain("old", v1), catalog.Chain("new", v1, v2)},
			})
			e.subscribe(operatorsv1alpha1.SubscriptionSpec{Package: v1.Package, Channel: "old"})
			e.installs(v1.Package, v1.Name())
			load := o.load(e)
			before := e.certificate(e.namespace, v1.Name()).Generation

			overlap(e, v1.Name(), v2.Name())
			e.installs(v1.Package, v2.Name())
			e.isGone(v1.Name())
			e.eventually("the certificate is another one", func() (bool, any) {
				c := e.certificate(e.namespace, v2.Name())
				return c.Phase == managerv1alpha1.CertificateStable && c.Generation > before, c
			})
			load.GoesOn(o.answer)
			load.End(calls.Never)
		})
	}
}

// rotates orders another certificate, and returns when nothing but that is served and trusted.
func (e *env) rotates(namespace, csv string) {
	e.Helper()
	before := e.certificate(namespace, csv).Generation
	e.orders(namespace, csv)
	e.eventually(csv+" serves another certificate, and trusts nothing else", func() (bool, any) {
		c := e.certificate(namespace, csv)
		return c.Phase == managerv1alpha1.CertificateStable && c.Generation == before+1, c
	})
}

// orders asks for another certificate.
func (e *env) orders(namespace, csv string) {
	e.Helper()
	order := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, wellknown.AnnotationRotate, time.Now().Format(time.RFC3339Nano))
	kube.Patch(e, olmClient.ClusterServiceVersions(namespace), csv, types.MergePatchType, []byte(order))
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
