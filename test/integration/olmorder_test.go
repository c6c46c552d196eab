package integration

import (
	"bytes"
	"maps"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// OLM's users order a rotation by an instant in the status, and wait for the annotation
// olmcahash of the pod template. Trust leads in this one too.
func TestRotationOrderedAsWithOLM(t *testing.T) {
	for name, pods := range map[string]func(*playedPod){
		"no pods":               func(*playedPod) {},
		"pods that never serve": func(p *playedPod) { p.must(p.listener.Close()); p.stand() },
	} {
		t.Run(name, func(t *testing.T) {
			e := newOperatorEnv(t)
			p := playPod(e)
			m := e.manage(graceOf(time.Hour))
			e.install(p.csv())
			pods(p)
			before, trust, hash := e.servingCA(), watchTrust(e), templateHash(e)
			e.must(retry.RetryOnConflict(retry.DefaultBackoff, func() error {
				c := e.get("operator.v1")
				c.Status.CertsLastUpdated, c.Status.CertsRotateAt = new(metav1.Now()), new(metav1.Now())
				_, err := e.olm.ClusterServiceVersions(e.namespace).UpdateStatus(e.ctx, c, metav1.UpdateOptions{})
				return err
			}))
			e.eventually("the pods are replaced, and have another certificate", func() (bool, any) {
				return templateHash(e) != hash && !bytes.Equal(before, e.servingCA()), rotation(e)
			})
			e.eventually("the ClusterServiceVersion reports the truth again", func() (bool, any) {
				s := e.get("operator.v1").Status
				return s.CertsRotateAt.After(time.Now()) && s.Phase == operatorsv1alpha1.CSVPhaseSucceeded, s
			})
			after := e.servingCA()
			m.looksAgain("operator.v1")
			if !bytes.Equal(after, e.servingCA()) || rotation(e).Generation != 2 {
				t.Errorf("an order that was followed is followed again: %+v", rotation(e))
			}
			trust.neverWithout(before, after)
		})
	}
}

// What the manager itself wrote there is no order when it is over.
func TestDueCertificateIsNoOrder(t *testing.T) {
	e, m := newRunningOperator(t)
	m.stop()
	hash := templateHash(e)
	e.age(80 * 24 * time.Hour)
	m = e.manage()
	e.eventually("the certificate that is due for renewal is replaced", func() (bool, any) {
		c := rotation(e)
		return c.Generation == 2 && c.Phase == managerv1alpha1.CertificateStable, c
	})
	m.looksAgain("operator.v1")
	same(t, "the hash of the pods, none of which serves the previous certificate", templateHash(e), hash)
}

// age puts into the cluster what a manager would have left there that long ago.
func (e *env) age(by time.Duration) {
	e.Helper()
	policy, then := certs.DefaultPolicy(), time.Now().Add(-by)
	facts := certs.Facts{Live: true, Names: certs.DNSNames("server-service", e.namespace)}
	minted, err := certs.Mint(*certs.Decide(facts, policy, then).Mint)
	e.must(err)
	facts.Issued = &minted
	decided := certs.Decide(facts, policy, then)
	secrets := e.kube.CoreV1().Secrets(e.namespace)
	live := kube.Get(e, secrets, servingSecret)
	live.Data = decided.Write.Data
	maps.Copy(live.Annotations, decided.Write.Annotations)
	kube.Update(e, secrets, live)
	registration := e.registration("v.example.com")
	registration.Webhooks[0].ClientConfig.CABundle = decided.Trust
	kube.Update(e, e.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations(), &registration)
}

// templateHash is what the pods were last replaced for, in OLM's words.
func templateHash(e *env) string {
	e.Helper()
	return e.deployment("server").Spec.Template.Annotations[wellknown.AnnotationCAHash]
}
