package integration

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/vocabulary"
)

// sleeper is a manager that led, and does not see what happens, or does not go on, until it
// wakes up.
type sleeper struct {
	*manager
	sleep, wake func()
	slept       func() bool
}

// frozen is one whose watches of some resource stand still, as behind a proxy that delays
// them. It works on all the same, but leaves the promotion to the one that leads: how far a
// rotation has come when it wakes is the test's to say.
func frozen(resource string) func(*env) sleeper {
	return func(e *env) sleeper {
		f, config := &freezer{resource: resource}, cluster.Config()
		config.Wrap(f.through)
		config.Wrap(withoutPromotions)
		m := e.manageThrough(config, graceOf(time.Hour))
		return sleeper{m, f.freeze, f.thaw, func() bool { return f.held.Load() > 0 }}
	}
}

// paused is one that stands still with a registration on its way, as it was then.
func paused(e *env) sleeper {
	g := e.gate(func(r *http.Request, _ []byte) bool { return isRegistration(r.URL.Path) })
	m := e.manageThrough(g.config, graceOf(time.Hour))
	sleep := func() {
		g.close()
		_, err := e.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations().Patch(e.ctx, e.registration("v.example.com").Name, types.JSONPatchType,
			[]byte(`[{"op": "replace", "path": "/webhooks/0/timeoutSeconds", "value": 7}]`), metav1.PatchOptions{})
		e.must(err)
		g.keeps()
	}
	return sleeper{m, sleep, g.open, func() bool { return g.arrived.Load() > 0 }}
}

// A leader of before that wakes up in the middle of a rotation that another one leads takes
// no trust away, whatever it did not see.
func TestRotationBesideALeaderOfBefore(t *testing.T) {
	for name, before := range map[string]func(*env) sleeper{
		"its Secrets stand still":       frozen("/secrets"),
		"its registrations stand still": frozen("webhookconfigurations"),
		"it is paused with a write":     paused,
	} {
		for _, wakesIn := range []managerv1alpha1.CertificatePhase{managerv1alpha1.CertificateDistributing, managerv1alpha1.CertificatePromoting} {
			t.Run(name+", wakes in "+string(wakesIn), func(t *testing.T) {
				e := newParallelEnv(t)
				e.group("og", allNamespaces)
				e.runDeployments()
				p := e.playPod()
				former := before(e)
				e.install(p.csv())
				p.start()
				first, trust := e.servingCA(), e.watchTrust()
				former.sleep()
				promotion := e.gate(isPromotion)
				defer promotion.open()
				promotion.close()
				e.manageThrough(promotion.config, graceOf(time.Hour))
				e.order("once")

				promotion.keeps()
				e.touch("operator.v1")
				if wakesIn == managerv1alpha1.CertificateDistributing {
					former.wakesIn(wakesIn)
				}
				promotion.open()
				e.eventually("the pod is given the new certificate", func() (bool, any) {
					phase := e.storedPhase()
					return phase == managerv1alpha1.CertificatePromoting, phase
				})
				e.touch("operator.v1")
				if wakesIn == managerv1alpha1.CertificatePromoting {
					former.wakesIn(wakesIn)
				}
				p.reload()
				e.rotates(2)
				former.looksAgain("operator.v1")
				trust.neverWithout(first, e.servingCA())
				trust.trustsAllServed(p)
			})
		}
	}
}

// wakesIn wakes the manager in a phase, and waits until it has looked at what there is.
func (s sleeper) wakesIn(phase managerv1alpha1.CertificatePhase) {
	s.Helper()
	if stored := s.storedPhase(); stored != phase || !s.slept() {
		s.Fatalf("it was to wake up in %s, and it is %s; that it slept is %t", phase, stored, s.slept())
	}
	s.wake()
	s.looksAgain("operator.v1")
}

// storedPhase is what the Secret says, whatever managers report.
func (e *env) storedPhase() managerv1alpha1.CertificatePhase {
	e.Helper()
	secret := e.certificate()
	switch {
	case len(secret.Data[vocabulary.KeyNextCertificate]) > 0:
		return managerv1alpha1.CertificateDistributing
	case secret.Annotations[vocabulary.AnnotationPromoted] != "":
		return managerv1alpha1.CertificatePromoting
	default:
		return managerv1alpha1.CertificateStable
	}
}

// isPromotion tells the write that gives pods the next certificate.
func isPromotion(r *http.Request, body []byte) bool {
	return strings.Contains(r.URL.Path, "/secrets/"+servingSecret) && bytes.Contains(body, []byte(vocabulary.AnnotationPromoted))
}

// withoutPromotions wraps the transport of a client that cannot give pods the next certificate.
func withoutPromotions(rt http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if r.GetBody == nil {
			return rt.RoundTrip(r)
		}
		reader, err := r.GetBody()
		if err != nil {
			return nil, err
		}
		body, err := io.ReadAll(reader)
		if err != nil {
			return nil, err
		}
		if isPromotion(r, body) {
			return nil, errors.New("the promotion is for the manager that leads")
		}
		return rt.RoundTrip(r)
	})
}
