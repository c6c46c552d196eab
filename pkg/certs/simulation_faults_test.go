package certs

import (
	"bytes"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// fault is injected during a rotation.
type fault struct {
	name   string
	inject func(*simulation)
}

var faults = slices.Concat(secretFaults, podFaults, registrationFaults, managerFaults)

var secretFaults = []fault{
	lost,
	{"the certificate is damaged", func(sim *simulation) { sim.editKey(corev1.TLSCertKey, []byte("spoiled")) }},
	{"the CA is deleted", func(sim *simulation) { sim.editKey(wellknown.KeyCA, nil) }},
	{"the next key is deleted", func(sim *simulation) { sim.editKey(wellknown.KeyNextKey, nil) }},
	{"the annotations are deleted", func(sim *simulation) { sim.editSecret(func(s *corev1.Secret) { s.Annotations = nil }) }},
	{"the Secret is written back with only its pair", func(sim *simulation) {
		sim.editSecret(func(s *corev1.Secret) {
			s.Labels, s.Annotations = nil, nil
			maps.DeleteFunc(s.Data, func(key string, _ []byte) bool {
				return key != corev1.TLSCertKey && key != corev1.TLSPrivateKeyKey && key != wellknown.KeyCA
			})
		})
	}},
	{"the previous CAs are deleted", func(sim *simulation) { sim.editKey(wellknown.KeyPreviousCAs, nil) }},
	{"another client writes a pair", func(sim *simulation) { sim.editSecret(sim.replacePair) }},
	{"another Secret replaces it", func(sim *simulation) {
		sim.editSecret(func(s *corev1.Secret) {
			s.Annotations, s.Data = nil, map[string][]byte{}
			sim.replacePair(s)
		})
	}},
	{"a Secret without labels replaces it", func(sim *simulation) {
		sim.editSecret(func(s *corev1.Secret) {
			s.Labels, s.Annotations, s.Data = nil, nil, map[string][]byte{}
			sim.replacePair(s)
		})
	}},
	{"a Secret of another type replaces it", func(sim *simulation) {
		sim.editSecret(func(s *corev1.Secret) {
			s.Type, s.Labels, s.Annotations, s.Data = corev1.SecretTypeOpaque, nil, nil, nil
		})
	}},
	{"an earlier state of the Secret is restored", (*simulation).restore},
	{"the Secret is made immutable", func(sim *simulation) { sim.editSecret(func(s *corev1.Secret) { s.Immutable = new(true) }) }},
	{"an expired CA is written", func(sim *simulation) {
		sim.editKey(wellknown.KeyOLMCA, mint(sim.t, *sim.policy.request(0, names, sim.now.Add(-2*sim.policy.Validity))).CA)
	}},
	{"the labels are deleted", func(sim *simulation) { sim.editSecret(func(s *corev1.Secret) { s.Labels = nil }) }},
	{"the API server refuses writes of the Secret", func(sim *simulation) {
		sim.secretRefused = true
		sim.schedule(sim.upTo(2*time.Minute), func() { sim.secretRefused = false; sim.changed() })
	}},
}

var lost = fault{"the Secret is deleted", func(sim *simulation) { sim.store(nil) }}

func (sim *simulation) replacePair(s *corev1.Secret) {
	g := mint(sim.t, *sim.policy.request(0, names, sim.now))
	sim.otherClientCerts[string(g.Certificate)] = true
	s.Data = with(s.Data, map[string][]byte{corev1.TLSCertKey: g.Certificate, corev1.TLSPrivateKeyKey: g.Key, wellknown.KeyCA: g.CA}) // the Secret of another client may have no data
}

// restore writes an earlier state of the Secret, as from a backup or a GitOps tool. A pair that no
// registration verifies any more counts as another client's. A request that was carried out since
// then is carried out again.
func (sim *simulation) restore() {
	s := sim.secret[sim.random.intN(len(sim.secret))].value
	if s == nil {
		return
	}
	if pair := s.Data[corev1.TLSCertKey]; len(parse(pair)) > 0 && !sim.verified(pair) {
		sim.otherClientCerts[string(pair)] = true
	}
	sim.compromised = sim.compromised || sim.compromisePending(s)
	sim.store(s)
}

var podFaults = []fault{
	{"a pod is created", (*simulation).addPod},
	scaledUp,
	{"a pod is deleted", func(sim *simulation) { sim.pods = sim.pods[min(1, len(sim.pods)):] }},
	{"all pods are deleted and recreated", func(sim *simulation) {
		n := len(sim.pods)
		sim.pods = nil
		sim.schedule(sim.upTo(2*time.Minute), func() {
			for range max(n, 1) {
				sim.addPod()
			}
		})
	}},
	{"a pod does not respond", func(sim *simulation) {
		if len(sim.pods) > 0 {
			p := sim.pods[0]
			p.unresponsive = true
			sim.schedule(sim.upTo(10*time.Minute), func() { p.unresponsive = false })
		}
	}},
	{"pods are restarted", func(sim *simulation) {
		for _, p := range sim.pods {
			sim.schedule(sim.upTo(time.Minute), func() { sim.replacePod(p) })
		}
	}},
}

var registrationFaults = []fault{
	{"a caBundle is emptied", func(sim *simulation) { sim.editBundle(nil) }},
	{"a caBundle is replaced", func(sim *simulation) { sim.editBundle(mint(sim.t, *sim.policy.request(0, names, sim.now)).CA) }},
	{"a registration is changed", func(sim *simulation) { sim.change(sim.random.intN(len(sim.registrations)), func(*registration) {}) }},
	{"another webhook is registered", func(sim *simulation) { sim.register() }},
	{"another webhook is registered while caches are stale", func(sim *simulation) {
		sim.stallCaches()
		sim.register()
	}},
	registeredLate,
	{"a webhook is unregistered", func(sim *simulation) {
		sim.change(len(sim.registrations)-1, func(r *registration) { r.deleted = true })
	}},
	{"registrations cannot be written", func(sim *simulation) {
		sim.registrationsRefused = true
		sim.schedule(sim.upTo(2*time.Minute), func() { sim.registrationsRefused = false; sim.changed() })
	}},
	{"an API server is disconnected", func(sim *simulation) {
		was := sim.delay[1]
		sim.delay[1] = sim.upTo(time.Minute)
		sim.schedule(sim.delay[1]+sim.upTo(time.Minute), func() { sim.delay[1] = was })
	}},
}

var registeredLate = fault{"a manager that was paused before the rotation registers another webhook in the settle time", func(sim *simulation) {
	sim.whenTrusted(120, (*simulation).registerIdleDecision)
}}

var scaledUp = fault{"pods are created shortly before a promotion", func(sim *simulation) {
	sim.whenTrusted(120, func(sim *simulation) {
		for range 3 {
			sim.schedule(sim.upTo(sim.policy.Settle+2*time.Second), sim.addPod)
		}
	})
}}

// recordUntracked records the certificates of pods whose CA is in no object after the last fault.
func (sim *simulation) recordUntracked() {
	var held []byte
	if s := sim.secret.last(); s != nil {
		held = slices.Concat(slices.Collect(maps.Values(s.Data))...)
	}
	for _, r := range sim.registrations {
		if last := r.last(); !last.deleted {
			held = append(held, last.CABundle...)
		}
	}
	for _, p := range sim.pods {
		if p.loaded == nil {
			continue
		}
		sim.untrackedCerts[p.loaded.certificate] = !bytes.Contains(held, []byte(p.loaded.ca))
	}
}

func (sim *simulation) editBundle(bundle []byte) {
	sim.change(sim.random.intN(len(sim.registrations)), func(r *registration) { r.CABundle, r.edited = bundle, true })
}

var managerFaults = []fault{
	{"caches are stale", (*simulation).stallCaches},
	{"the clock is set back", func(sim *simulation) { sim.setClock(-sim.upTo(day)) }},
	{"the clock is set ahead", func(sim *simulation) { sim.setClock(sim.upTo(sim.policy.ClockSkew)) }},
	{"the clock is set ahead during the settle time", func(sim *simulation) {
		sim.whenTrusted(120, func(sim *simulation) { sim.setClock(sim.policy.ClockSkew) })
	}},
	{"the clock is set far ahead", func(sim *simulation) { sim.setClock(time.Hour) }},
	yearAhead,
	{"a rotation is requested", func(sim *simulation) { sim.rotationRequest = sim.now.String(); sim.changed() }},
	{"the CA is compromised", func(sim *simulation) {
		sim.rotationRequest, sim.compromised = wellknown.RotateCompromised+sim.now.String(), true
		sim.changed()
	}},
	{"the issuer renews", func(sim *simulation) { sim.issue(false) }},
	{"the issuer has another CA", func(sim *simulation) { sim.issue(true) }},
	{"another provider is chosen", (*simulation).chooseOtherProvider},
}

// farAhead is longer than the validity of all certificates that managers mint.
const farAhead = 400 * day

// yearAhead makes certificates expire by a wrong clock, and others be minted that are not valid yet
// by the correct clock.
var yearAhead = fault{"the clock is set more than a year ahead", func(sim *simulation) {
	sim.clockBeyondExpiryAt = sim.now
	sim.setClock(farAhead)
}}

// whenTrusted calls do if the Secret records within some seconds that registrations trust the next certificate.
func (sim *simulation) whenTrusted(seconds int, do func(*simulation)) {
	if last := sim.secret.last(); last != nil && last.Annotations[wellknown.AnnotationNextTrustedAt] != "" {
		do(sim)
	} else if seconds > 0 {
		sim.schedule(time.Second, func() { sim.whenTrusted(seconds-1, do) })
	}
}
