package certs

import (
	"bytes"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// fault is what happens in the middle of a rotation.
type fault struct {
	name   string
	happen func(*world)
}

var faults = slices.Concat(secretFaults, podFaults, registrationFaults, managerFaults)

var secretFaults = []fault{
	lost,
	{"the certificate spoils", func(w *world) { w.spoil(corev1.TLSCertKey, []byte("spoiled")) }},
	{"its CA goes", func(w *world) { w.spoil(wellknown.KeyCA, nil) }},
	{"the next one spoils", func(w *world) { w.spoil(wellknown.KeyNextKey, nil) }},
	{"its notes go", func(w *world) { w.editSecret(func(s *corev1.Secret) { s.Annotations = nil }) }},
	{"it is written back with nothing but its pair", func(w *world) {
		w.editSecret(func(s *corev1.Secret) {
			s.Labels, s.Annotations = nil, nil
			maps.DeleteFunc(s.Data, func(key string, _ []byte) bool {
				return key != corev1.TLSCertKey && key != corev1.TLSPrivateKeyKey && key != wellknown.KeyCA
			})
		})
	}},
	{"the CAs of what pods may serve are removed", func(w *world) { w.spoil(wellknown.KeyPreviousCAs, nil) }},
	{"a pair of somebody else's is put there", func(w *world) { w.editSecret(w.replacePair) }},
	{"another Secret is put in its place", func(w *world) {
		w.editSecret(func(s *corev1.Secret) {
			s.Annotations, s.Data = nil, map[string][]byte{}
			w.replacePair(s)
		})
	}},
	{"a Secret without labels is made in its place", func(w *world) {
		w.editSecret(func(s *corev1.Secret) {
			s.Labels, s.Annotations, s.Data = nil, nil, map[string][]byte{}
			w.replacePair(s)
		})
	}},
	{"a Secret of another type is made in its place", func(w *world) {
		w.editSecret(func(s *corev1.Secret) {
			s.Type, s.Labels, s.Annotations, s.Data = corev1.SecretTypeOpaque, nil, nil, nil
		})
	}},
	{"what it was before is put back", (*world).restore},
	{"it is made immutable", func(w *world) { w.editSecret(func(s *corev1.Secret) { s.Immutable = new(true) }) }},
	{"an expired CA is put there", func(w *world) {
		w.spoil(wellknown.KeyOLMCA, mint(w.T, *w.policy.request(0, names, w.now.Add(-2*w.policy.Validity))).CA)
	}},
	{"its labels go", func(w *world) { w.editSecret(func(s *corev1.Secret) { s.Labels = nil }) }},
	{"the API server takes no Secret", func(w *world) {
		w.refused = true
		w.in(w.upTo(2*time.Minute), func() { w.refused = false; w.changed() })
	}},
}

var lost = fault{"the Secret goes", func(w *world) { w.store(nil) }}

func (w *world) replacePair(s *corev1.Secret) {
	g := mint(w.T, *w.policy.request(0, names, w.now))
	w.strangers[string(g.Certificate)] = true
	s.Data = with(s.Data, map[string][]byte{corev1.TLSCertKey: g.Certificate, corev1.TLSPrivateKeyKey: g.Key, wellknown.KeyCA: g.CA}) // somebody else's may hold nothing
}

// restore puts back what the Secret was at some time: from a backup, or by who keeps manifests.
// A pair that no registration verifies any more is as good as a stranger's, and an order that was
// followed since is followed again.
func (w *world) restore() {
	s := w.secret[w.random.below(len(w.secret))].value
	if s == nil {
		return
	}
	if pair := s.Data[corev1.TLSCertKey]; len(parse(pair)) > 0 && !w.verified(pair) {
		w.strangers[string(pair)] = true
	}
	w.compromised = w.compromised || w.disowns(s)
	w.store(s)
}

// verified tells whether a certificate would be trusted for the sake of any registration.
func (w *world) verified(certificate []byte) bool {
	return slices.ContainsFunc(w.registrations, func(r object[registration]) bool {
		return !r.last().gone && verifies(certificate, r.last().CABundle, w.now) == nil
	})
}

// issueByHand is the administrator's doing while nobody is chosen: it renews the leaf, from
// the CA that is served.
func (w *world) issueByHand() {
	for _, i := range w.issuers {
		if last := w.secret.last(); last != nil && string(last.Data[wellknown.KeyCA]) == string(encode(i.cert)) {
			g := w.leaf(i)
			w.editSecret(func(s *corev1.Secret) {
				s.Data[corev1.TLSCertKey], s.Data[corev1.TLSPrivateKeyKey] = g.Certificate, g.Key
			})
		}
	}
}

var podFaults = []fault{
	{"a pod comes", (*world).addPod},
	scaledUp,
	{"a pod goes", func(w *world) { w.pods = w.pods[min(1, len(w.pods)):] }},
	{"all pods go, and come back", func(w *world) {
		n := len(w.pods)
		w.pods = nil
		w.in(w.upTo(2*time.Minute), func() {
			for range max(n, 1) {
				w.addPod()
			}
		})
	}},
	{"a pod hangs", func(w *world) {
		if len(w.pods) > 0 {
			p := w.pods[0]
			p.hangs = true
			w.in(w.upTo(10*time.Minute), func() { p.hangs = false })
		}
	}},
	{"pods are restarted", func(w *world) {
		for _, p := range w.pods {
			w.in(w.upTo(time.Minute), func() { w.replace(p) })
		}
	}},
}

var registrationFaults = []fault{
	{"a caBundle is emptied", func(w *world) { w.editBundle(nil) }},
	{"a caBundle is replaced", func(w *world) { w.editBundle(mint(w.T, *w.policy.request(0, names, w.now)).CA) }},
	{"a registration is changed", func(w *world) { w.change(w.random.below(len(w.registrations)), func(*registration) {}) }},
	{"another webhook is registered", func(w *world) { w.register() }},
	{"another webhook is registered, and caches do not show it", func(w *world) {
		w.stall()
		w.register()
	}},
	registeredLate,
	{"a webhook is unregistered", func(w *world) { w.change(len(w.registrations)-1, func(r *registration) { r.gone = true }) }},
	{"registrations cannot be written", func(w *world) {
		w.stuck = true
		w.in(w.upTo(2*time.Minute), func() { w.stuck = false; w.changed() })
	}},
	{"an API server is cut off", func(w *world) {
		was := w.late[1]
		w.late[1] = w.upTo(time.Minute)
		w.in(w.late[1]+w.upTo(time.Minute), func() { w.late[1] = was })
	}},
}

var registeredLate = fault{"a manager that was paused before the rotation registers another webhook in the settle time", func(w *world) {
	w.onceTrusted(120, (*world).registerLate)
}}

var scaledUp = fault{"more pods come when others are about to be given another certificate", func(w *world) {
	w.onceTrusted(120, func(w *world) {
		for range 3 {
			w.in(w.upTo(w.policy.Settle+2*time.Second), w.addPod)
		}
	})
}}

// forget notes what pods serve of which the last fault took the last trace.
func (w *world) forget() {
	var held []byte
	if s := w.secret.last(); s != nil {
		held = slices.Concat(slices.Collect(maps.Values(s.Data))...)
	}
	for _, r := range w.registrations {
		if last := r.last(); !last.gone {
			held = append(held, last.CABundle...)
		}
	}
	for _, p := range w.pods {
		if p.loaded == nil {
			continue
		}
		w.forgotten[p.loaded.certificate] = !bytes.Contains(held, []byte(p.loaded.ca))
	}
}

func (w *world) editBundle(bundle []byte) {
	w.change(w.random.below(len(w.registrations)), func(r *registration) { r.CABundle, r.edited = bundle, true })
}

var managerFaults = []fault{
	{"caches stall", (*world).stall},
	{"the clock is set back", func(w *world) { w.setClock(-w.upTo(day)) }},
	{"the clock is set ahead", func(w *world) { w.setClock(w.upTo(w.policy.ClockSkew)) }},
	{"the clock is set ahead in the settle time", func(w *world) { w.onceTrusted(120, func(w *world) { w.setClock(w.policy.ClockSkew) }) }},
	{"the clock is set far ahead", func(w *world) { w.setClock(time.Hour) }},
	yearAhead,
	{"a rotation is ordered", func(w *world) { w.order = w.now.String(); w.changed() }},
	{"the CA is compromised", func(w *world) {
		w.order, w.compromised = wellknown.RotateCompromised+w.now.String(), true
		w.changed()
	}},
	{"the issuer renews", func(w *world) { w.issue(false) }},
	{"the issuer has another CA", func(w *world) { w.issue(true) }},
	{"another provider is chosen", (*world).chooseAnother},
}

// farAhead is beyond the end of all that managers mint.
const farAhead = 400 * day

// yearAhead has certificates end by a clock that is wrong, and others be minted that are yet to
// begin when it is right again.
var yearAhead = fault{"the clock is set more than a year ahead", func(w *world) {
	w.outran = w.now
	w.setClock(farAhead)
}}

// stall has caches be late for a while.
func (w *world) stall() {
	was := w.lag
	w.lag = w.upTo(5 * time.Minute)
	w.in(w.upTo(10*time.Minute), func() { w.lag = min(was, 10*time.Second); w.changed() })
}

// onceTrusted does something when the Secret says that registrations trust the next
// certificate, if that is so within some seconds.
func (w *world) onceTrusted(seconds int, do func(*world)) {
	if last := w.secret.last(); last != nil && last.Annotations[wellknown.AnnotationNextTrustedAt] != "" {
		do(w)
	} else if seconds > 0 {
		w.in(time.Second, func() { w.onceTrusted(seconds-1, do) })
	}
}

// setClock has the managers' be wrong for a while.
func (w *world) setClock(ahead time.Duration) {
	set := func(to time.Duration) {
		if to > w.ahead {
			w.jumped = w.now
		}
		w.ahead = to
		w.changed()
	}
	set(ahead)
	w.in(w.upTo(10*time.Minute), func() { set(0) })
}
