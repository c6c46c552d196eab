package integration

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// sleeper is a manager that led, and does not see what happens, or does not continue, until it wakes up.
type sleeper struct {
	*manager
	sleep, wake func()
	slept       func() bool
	refused     func() int32 // of its writes, so far
}

// frozen is a manager whose watches of a resource stand still, behind a proxy that delays them. Until it wakes it
// leaves the promotion to the leader, so that the test decides the progress of a rotation.
func frozen(resource string) func(*env) sleeper {
	return func(e *env) sleeper {
		f, tie := e.freezer(resource), &tie{env: e}
		f.config.Wrap(tie.through)
		m := manageThrough(e, f.config, graceOf(time.Hour))
		sleep, wake := func() { tie.tighten(); f.freeze() }, func() { tie.loosen(); f.thaw() }
		return sleeper{m, sleep, wake, func() bool { return f.held.Load() > 0 }, tie.refused.Load}
	}
}

// paused is one that stands still with a registration on its way, as it was then.
func paused(e *env) sleeper {
	g := e.gate(func(r *http.Request, _ []byte) bool { return isRegistration(r.URL.Path) })
	m := manageThrough(e, g.config, graceOf(time.Hour))
	e.Cleanup(g.open) // a test that ends early ends the manager, whose writes have to end
	sleep := func() {
		g.close()
		kube.Patch(e, e.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations(), e.registration("v.example.com").Name, types.JSONPatchType,
			[]byte(`[{"op": "replace", "path": "/webhooks/0/timeoutSeconds", "value": 7}]`))
		g.keeps()
	}
	return sleeper{m, sleep, g.open, func() bool { return g.arrived.Load() > 0 }, func() int32 { return 0 }}
}

// A previous leader that wakes up in the middle of a rotation that another one leads takes
// no trust away, independent of what it did not see, and can lead the next.
func TestRotationWithAnEarlierLeader(t *testing.T) {
	for name, before := range map[string]func(*env) sleeper{
		"its Secrets stand still":       frozen("/secrets"),
		"its registrations stand still": frozen("webhookconfigurations"),
		"it is paused with a write":     paused,
	} {
		for _, wakesIn := range []managerv1alpha1.CertificatePhase{managerv1alpha1.CertificateDistributing, managerv1alpha1.CertificatePromoting} {
			t.Run(name+", wakes in "+string(wakesIn), func(t *testing.T) {
				e := newOperatorEnv(t)
				p := playPod(e)
				former := before(e)
				e.install(p.csv())
				p.start()
				first, trust := e.servingCA(), watchTrust(e)
				former.sleep()
				promotion := e.gate(e.isPromotion)
				defer promotion.open()
				promotion.close()
				leader := manageThrough(e, promotion.config, graceOf(time.Hour))
				e.order("once")

				promotion.keeps()
				touch(e, "operator.v1")
				if wakesIn == managerv1alpha1.CertificateDistributing {
					former.wakesIn(wakesIn)
				}
				promotion.open()
				promotes(e)
				touch(e, "operator.v1")
				if wakesIn == managerv1alpha1.CertificatePromoting {
					former.wakesIn(wakesIn)
				}
				p.reload()
				rotates(e, 2)
				former.looksAgain("operator.v1")
				leader.stop()
				e.order("twice")
				promotes(e)
				p.reload()
				rotates(e, 3)
				trust.neverWithout(first, e.servingCA())
				trust.trustsAllServed(p)
			})
		}
	}
}

// wakesIn wakes the manager in a phase, and waits until it has reconciled. From then on it is a manager like any other.
func (s sleeper) wakesIn(phase managerv1alpha1.CertificatePhase) {
	s.Helper()
	s.eventually("it has slept", func() (bool, any) { return s.slept(), nil })
	if stored := storedPhase(s.env); stored != phase {
		s.Fatalf("it was to wake up in %s, and it is %s", phase, stored)
	}
	s.wake()
	asleep := s.refused()
	s.Cleanup(func() {
		same(s, "writes that are refused of the manager that had woken up", s.refused(), asleep)
	})
	s.looksAgain("operator.v1")
}

func promotes(e *env) {
	e.Helper()
	becomes(e, "the pod is given the new certificate", func() managerv1alpha1.CertificatePhase { return storedPhase(e) }, managerv1alpha1.CertificatePromoting)
}

// storedPhase is the phase in the Secret, independent of what managers report.
func storedPhase(e *env) managerv1alpha1.CertificatePhase {
	e.Helper()
	secret := certificate(e)
	switch {
	case len(secret.Data[wellknown.KeyNextCertificate]) > 0:
		return managerv1alpha1.CertificateDistributing
	case secret.Annotations[wellknown.AnnotationPromotedAt] != "":
		return managerv1alpha1.CertificatePromoting
	default:
		return managerv1alpha1.CertificateStable
	}
}

// isPromotion reports whether a write gives pods the next certificate. Later ones name its
// annotation, too, if only among the managed fields of what they were made from.
func (e *env) isPromotion(r *http.Request, body []byte) bool {
	if !strings.HasSuffix(r.URL.Path, "/secrets/"+servingSecret) {
		return false
	}
	written, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
	secret, ok := written.(*corev1.Secret)
	if err != nil || !ok || secret.Annotations[wellknown.AnnotationPromotedAt] == "" {
		return false
	}
	live, err := e.kube.CoreV1().Secrets(e.namespace).Get(r.Context(), servingSecret, metav1.GetOptions{})
	report(e, err)
	return err == nil && live.Annotations[wellknown.AnnotationPromotedAt] == ""
}

// tie keeps a manager from giving pods the next certificate while it is tight.
type tie struct {
	*env
	mutex   sync.RWMutex // what it refuses, it has refused before it is loose
	tight   bool
	refused atomic.Int32 // promotions
}

func (t *tie) tighten() { t.set(true) }
func (t *tie) loosen()  { t.set(false) }

func (t *tie) set(tight bool) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.tight = tight
}

func (t *tie) through(rt http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if err := t.refuses(r); err != nil {
			return nil, err
		}
		return rt.RoundTrip(r)
	})
}

func (t *tie) refuses(r *http.Request) error {
	t.mutex.RLock()
	defer t.mutex.RUnlock()
	if !t.tight || r.GetBody == nil {
		return nil
	}
	reader, err := r.GetBody()
	if err != nil {
		return err
	}
	body, err := io.ReadAll(reader)
	if err != nil {
		return err
	}
	if t.isPromotion(r, body) {
		t.refused.Add(1)
		return errors.New("the promotion is for the manager that leads")
	}
	return nil
}
