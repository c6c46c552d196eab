package integration

import (
	"bytes"
	"context"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller"
)

// slowly lets a rotation stay in its phases, so that an upgrade can begin in them.
func slowly(o *controller.Options) { o.Certificates.Settle = time.Second }

// repeats executes the step of the definition 20 times a second until stop.
func (s *stepping) repeats(csv string, versions ...string) (stop func()) {
	forms := bundleForms(s.env, "levels", versions...)
	ctx, cancel := context.WithCancel(s.ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(time.Second / 20)
		defer tick.Stop()
		for i := 0; ; i++ {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if err := tryAsCatalog(ctx, s.namespace+"/"+csv, forms[i%len(forms)]); err != nil && ctx.Err() == nil && !apierrors.IsConflict(err) {
				s.Errorf("the step of the definition: %v", err)
				return
			}
		}
	}()
	return func() { cancel(); <-done }
}

func (s *stepping) certificate(csv string) managerv1alpha1.CertificateStatus {
	s.Helper()
	for _, d := range s.rollout(csv).Deployments {
		if d.Certificate != nil {
			return *d.Certificate
		}
	}
	return managerv1alpha1.CertificateStatus{}
}

// hasRotated waits until pods and the definition have the next generation alone.
func (s *stepping) hasRotated(csv string, before []byte) {
	s.Helper()
	s.eventually("the certificate is rotated", func() (bool, any) {
		c, ca := s.certificate(csv), s.servingCA()
		return c.Generation == 2 && c.Phase == managerv1alpha1.CertificateStable && !bytes.Equal(ca, before) &&
			bytes.Equal(conversion(s.env, s.crd.Name).Webhook.ClientConfig.CABundle, ca), c
	})
}

// The steps of InstallPlans replace the definition while its certificate is rotated.
func TestRotationDuringCRDSteps(t *testing.T) {
	s := newSteppingWith(t, slowly, "v1", "v2")
	s.pod.mounts()
	before := s.servingCA()
	stop := s.repeats("operator.v1", "v1", "v2")
	s.order("once")
	s.hasRotated("operator.v1", before)
	stop()
	s.load.goOn("v1", "v2")
	s.load.end()
}

// catalog-operator begins an upgrade in each phase of a rotation.
func TestCatalogUpgradeDuringARotation(t *testing.T) {
	for _, phase := range []managerv1alpha1.CertificatePhase{managerv1alpha1.CertificateDistributing, managerv1alpha1.CertificatePromoting} {
		t.Run(string(phase), func(t *testing.T) {
			s := newSteppingWith(t, slowly, "v1", "v2")
			if phase == managerv1alpha1.CertificateDistributing {
				s.pod.mounts()
			}
			before := s.servingCA()
			s.order("once")
			s.rotationIs(phase, "")
			s.plan(s.pod.csv("operator.v2", "example.com/server:2", s.crd.Name, "v1", "v2", "v3"), "v1", "v2", "v3")
			stop := s.repeats("operator.v2", "v1", "v2", "v3")
			has(s.env, "server", "operator.v2")
			if phase != managerv1alpha1.CertificateDistributing {
				s.pod.mounts() // the pods have served the previous certificate until now
			}
			s.load.goOn("v1", "v2")
			s.rollOut("v1", "v2", "v3")
			s.hasRotated("operator.v2", before)
			stop()
			s.completes("v3")
		})
	}
}

// A rotation is ordered while an upgrade by catalog-operator waits for the pods of the new version.
func TestRotationDuringACatalogUpgrade(t *testing.T) {
	s := newSteppingWith(t, slowly, "v1", "v2")
	s.pod.mounts()
	before := s.servingCA()
	s.plan(s.pod.csv("operator.v2", "example.com/server:2", s.crd.Name, "v1", "v2", "v3"), "v1", "v2", "v3")
	has(s.env, "server", "operator.v2")
	stop := s.repeats("operator.v2", "v1", "v2", "v3")
	s.edit("operator.v2", func(c *operatorsv1alpha1.ClusterServiceVersion) {
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, wellknown.AnnotationRotate, "once")
	})
	s.eventually("the rotation has begun", func() (bool, any) {
		c := s.certificate("operator.v2")
		return c.Phase != managerv1alpha1.CertificateStable && c.Phase != "", c
	})
	s.load.goOn("v1", "v2")
	if s.serves("v3") {
		t.Error("the version is served before its converter is live")
	}
	s.rollOut("v1", "v2", "v3")
	s.hasRotated("operator.v2", before)
	stop()
	s.completes("v3")
}
