package certs

import (
	"crypto/x509"
	"fmt"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/vocabulary"
)

// due tells whether a generation has to follow the current one, whether or not its
// turn has come.
func (m *machine) due() bool {
	switch {
	case len(m.previous) >= maxAuthorities-2:
		return false // the bundle has no room: pods have to let go of earlier ones first
	case m.Issuer != managerv1alpha1.ProviderManager:
		return m.fresh() != nil
	default:
		return m.issuer != m.Issuer || m.ordered() || m.urgent() || !m.now.Before(m.policy.renewAt(m.current.chain))
	}
}

// urgent tells whether the current generation cannot wait for its turn: it is of no
// use already, or nine tenths of the time to replace it are over.
func (m *machine) urgent() bool {
	last := end(m.current.chain).Add(-m.policy.renewBefore(m.current.chain) / 10)
	return m.current.unfit(m.Names, m.now) != "" || !m.now.Before(last)
}

// fresh is what the issuer issued, when it is of use and not what the Secret holds
// already.
func (m *machine) fresh() *held {
	if m.Issued == nil {
		return nil
	}
	issued, err := assemble(*m.Issued, m.now)
	if err != nil || issued.unfit(m.Names, m.now) != "" || issued.sameAs(m.current) || issued.sameAs(m.next) {
		return nil
	}
	return issued
}

// reissued tells whether what is next was overtaken before any pod could serve it.
func (m *machine) reissued() bool {
	if m.Issuer == managerv1alpha1.ProviderManager {
		return m.nextIssuer != m.Issuer || m.next.unfit(m.Names, m.now) != ""
	}
	return m.fresh() != nil
}

// issue is the generation to take in. Without one, the decision asks the manager to
// mint; another issuer comes with it in its own time.
func (m *machine) issue() *held {
	issued := m.fresh()
	if issued == nil && m.Issuer == managerv1alpha1.ProviderManager {
		m.d.Need, m.d.Mint = NeedIssued, m.policy.request(m.following(), m.Names, m.now)
	}
	return issued
}

// following is the number of the generation after all that are known. Numbers go on
// from whatever is registered, adopted or not: a lower generation is never written
// over a higher one.
func (m *machine) following() int64 {
	return 1 + max(m.number, highestNumber(m.registered()))
}

// live asks for facts that do not come from caches.
func (m *machine) live() bool {
	if !m.Live {
		m.d.Need = NeedLive
	}
	return m.Live
}

// begin stores the generation that is to follow an intact one. A stale cache does no
// harm: the write fails, or adds a trust that was not needed.
func (m *machine) begin() {
	if !m.ordered() && !m.urgent() && m.issuer == m.Issuer && !m.hasTurn() {
		return
	}
	if next := m.issue(); next != nil {
		m.write(func(s *corev1.Secret) { m.storeNext(s, next) })
	}
}

// hasTurn spreads the load of certificates that are due at one moment.
func (m *machine) hasTurn() bool {
	if m.Rotating == nil {
		m.d.Need = NeedRotating
		return false
	}
	if *m.Rotating < m.policy.Parallel {
		return true
	}
	m.d.Message = fmt.Sprintf("the certificate is due and waits for its turn: %d others are being replaced", *m.Rotating)
	m.d.Again = m.now.Add(10*time.Second + jitter(m.current.chain)%(20*time.Second))
	return false
}

// recover begins anew where pods are not given anything, or something that the manager
// did not put there. Nothing registered: nobody is called, and the new generation is
// given to pods at once. Else it takes the way of any other, and what is wrong is
// hidden from pods meanwhile: a kubelet that finds a key missing leaves the files as
// they are.
func (m *machine) recover() {
	if !m.live() {
		return
	}
	next := m.issue()
	switch {
	case next == nil:
	case len(m.Registered) == 0:
		m.write(func(s *corev1.Secret) {
			m.storeCurrent(s, next, m.Issuer)
			if m.Running {
				note(s, vocabulary.AnnotationPromoted, m.now)
			}
		})
	default:
		m.write(func(s *corev1.Secret) {
			m.storeNext(s, next)
			m.hide(s)
		})
	}
}

// distribute promotes next once every registration trusts it.
func (m *machine) distribute() {
	if m.current == nil && !m.hidden {
		if m.live() {
			m.write(m.hide)
		}
		return
	}
	if waits := m.distrusting(m.next.ca()); waits != "" {
		m.d.Message = waits + " does not trust the next certificate yet"
		return
	}
	if m.noted() && !m.mayPromote() {
		m.d.Message = "API servers are given time to learn of the next certificate, until " + instant(m.trusted.Add(m.policy.Settle))
		return
	}
	switch {
	case !m.live():
	case m.mayPromote():
		m.write(m.promote)
	default:
		m.write(func(s *corev1.Secret) {
			s.Annotations[vocabulary.AnnotationTrusted] = m.now.UTC().Format(time.RFC3339Nano) + " " + m.fingerprint()
		})
	}
}

// noted tells whether the Secret says since when the registrations, as they are, trust next.
func (m *machine) noted() bool { return !m.trusted.IsZero() && m.versions == m.fingerprint() }

// mayPromote tells whether API servers trust next: they were seen to, or all
// registrations have for the settle time. A current generation that nobody can verify
// is not worth waiting for.
func (m *machine) mayPromote() bool {
	if m.Settled || len(m.Registered) == 0 || m.policy.Settle == 0 {
		return true
	}
	if m.current != nil && !m.now.Add(-m.policy.ClockSkew).Before(end(m.current.chain)) {
		return true
	}
	return m.noted() && !m.now.Before(m.trusted.Add(m.policy.Settle))
}

// prove looks whether every pod serves the current generation, and ends the trust in
// all others then, or when nothing else can be served any more.
func (m *machine) prove() {
	if m.Evidence == nil || !m.Live {
		m.d.Need = NeedEvidence
		return
	}
	seen := *m.Evidence
	if seen.Leaf != m.current.leaf() {
		m.d.Again = m.now.Add(time.Second)
		return // it speaks of another certificate
	}
	overdue := !m.previousEnds.IsZero() && !m.now.Before(m.previousEnds)
	if seen.complete() || overdue {
		m.write(m.retire)
		return
	}
	m.d.Endpoints = seen.String()
	m.d.Nudge = seen.nudges(m.promoted, m.now)
	restart, certain := m.restartAt(seen)
	m.d.Restart = certain && m.Running && !m.now.Before(restart)
	m.d.Message = m.explain(seen, restart, certain)
	m.d.Again = m.again(restart)
}

// restartAt is when to restart pods that do not serve the current generation. Those
// that were seen to serve another have had the grace time to reload. Where a restart
// makes calls fail, and where nothing is known, it waits until it must be.
func (m *machine) restartAt(seen Evidence) (at time.Time, certain bool) {
	stale := seen.count(ServesOther) > 0
	switch {
	case stale && m.previousEnds.IsZero():
		return m.promoted.Add(m.policy.Settle), true
	case stale && m.RestartCosts == "":
		return m.promoted.Add(m.policy.Grace), true
	case m.previousEnds.IsZero():
		return time.Time{}, false
	default:
		return m.previousEnds.Add(-m.previousEnds.Sub(m.promoted) / 10), true
	}
}

func (m *machine) explain(seen Evidence, restart time.Time, certain bool) string {
	text := fmt.Sprintf("not every endpoint is seen to serve the new certificate (%s): %s", seen, seen.missing())
	switch {
	case m.previousEnds.IsZero() && len(m.Registered) > 0:
		text += "; calls to it fail until it does"
	case !m.previousEnds.IsZero():
		text += "; the CA before stays trusted, at most until " + instant(m.previousEnds)
	}
	stale := seen.count(ServesOther) > 0
	switch {
	case !certain || !m.Running:
	case stale && m.RestartCosts != "" && !m.previousEnds.IsZero():
		text += fmt.Sprintf("; what does not reload has to be restarted, which makes calls fail because %s: it is put off until %s, restart it at a better moment", m.RestartCosts, instant(restart))
	case stale:
		text += fmt.Sprintf("; what does not reload is restarted from %s on, pod by pod, which makes calls fail if it does not drain when it is told to end", instant(restart))
	}
	return text
}

// again is the next look at pods: often at first, then in proportion to the wait so far.
func (m *machine) again(restart time.Time) time.Time {
	const shortest, longest = 250 * time.Millisecond, 30 * time.Second
	pause := min(max(m.now.Sub(m.promoted)/8, shortest), longest)
	_, nudge := nudgeTimes(m.promoted, m.now)
	return earliest(m.now, m.now.Add(pause), nudge, restart, m.previousEnds)
}

// replace is a rotation that does not wait: the next generation is the only one that is
// trusted, and calls to pods that do not serve it yet fail.
func (m *machine) replace() {
	if !m.live() {
		return
	}
	next := m.next
	if next == nil || m.reissued() {
		next = m.issue()
	}
	if next == nil {
		return
	}
	m.write(func(s *corev1.Secret) {
		m.storeCurrent(s, next, m.Issuer)
		note(s, vocabulary.AnnotationPromoted, m.now)
	})
}

// incomplete tells whether current lacks what the manager would have written with it:
// OLM v0 wrote it, an earlier version of this manager, or somebody took a key away.
func (m *machine) incomplete() bool {
	return m.current != nil && (len(m.Secret.Data[vocabulary.KeyCA]) == 0 || m.Secret.Annotations[vocabulary.AnnotationLeaf] == "")
}

// complete adds it. Pods mount ca.crt: one that mounts a missing key does not start, and
// one that runs is not brought anything new.
func (m *machine) complete(s *corev1.Secret) {
	s.Data[vocabulary.KeyCA] = m.current.CA
	s.Annotations[vocabulary.AnnotationLeaf] = m.current.leaf()
}

// write makes the change of a copy of the Secret the decision's.
func (m *machine) write(change func(*corev1.Secret)) {
	secret := &corev1.Secret{ObjectMeta: *m.Blank.DeepCopy()}
	if m.Secret != nil {
		secret = m.Secret.DeepCopy()
	}
	secret.Type = corev1.SecretTypeTLS
	secret.Labels = with(secret.Labels, map[string]string{vocabulary.LabelManaged: "true"})
	secret.Annotations = with(secret.Annotations, map[string]string{})
	secret.Data = with(secret.Data, map[string][]byte{})
	change(secret)
	m.d.Write = secret
}

// storeNext puts a generation beside the current one.
func (m *machine) storeNext(s *corev1.Secret, next *held) {
	s.Data[vocabulary.KeyNextCertificate] = next.Certificate
	s.Data[vocabulary.KeyNextKey] = next.Key
	s.Data[vocabulary.KeyNextCA] = encode(next.ca())
	s.Annotations[vocabulary.AnnotationNextGeneration] = strconv.FormatInt(m.numbered(next), 10)
	s.Annotations[vocabulary.AnnotationNextIssuer] = string(m.Issuer)
	note(s, vocabulary.AnnotationBegun, m.now)
	m.noteOrder(s)
	delete(s.Annotations, vocabulary.AnnotationTrusted)
}

// numbered is a generation's number, or the one that it gets.
func (m *machine) numbered(g *held) int64 {
	if g.Number > 0 {
		return g.Number
	}
	return m.following()
}

// storeCurrent gives a generation to pods, and forgets all others.
func (m *machine) storeCurrent(s *corev1.Secret, g *held, issuer managerv1alpha1.CertificateProvider) {
	ca := encode(g.ca())
	s.Data[corev1.TLSCertKey] = g.Certificate
	s.Data[corev1.TLSPrivateKeyKey] = g.Key
	s.Data[vocabulary.KeyCA] = ca
	s.Data[vocabulary.KeyOLMCA] = ca
	s.Annotations[vocabulary.AnnotationCAHash] = hexSHA256(ca)
	s.Annotations[vocabulary.AnnotationLeaf] = g.leaf()
	s.Annotations[vocabulary.AnnotationGeneration] = strconv.FormatInt(m.numbered(g), 10)
	s.Annotations[vocabulary.AnnotationIssuer] = string(issuer)
	m.noteOrder(s)
	m.forgetNext(s)
	m.retire(s)
}

func (m *machine) noteOrder(s *corev1.Secret) {
	if m.Order != "" {
		s.Annotations[vocabulary.AnnotationOrderDone] = m.Order
	}
}

func (m *machine) forgetNext(s *corev1.Secret) {
	for _, key := range []string{vocabulary.KeyNextCertificate, vocabulary.KeyNextKey, vocabulary.KeyNextCA} {
		delete(s.Data, key)
	}
	for _, a := range []string{vocabulary.AnnotationNextGeneration, vocabulary.AnnotationNextIssuer, vocabulary.AnnotationBegun, vocabulary.AnnotationTrusted} {
		delete(s.Annotations, a)
	}
}

// hide takes away what pods must not be given, and notes the CAs of what they may serve
// instead: those that were noted, and those that are registered, which is why this needs
// live facts. The API server wants the keys of a pair to exist, so they stay, empty.
func (m *machine) hide(s *corev1.Secret) {
	s.Data[corev1.TLSCertKey], s.Data[corev1.TLSPrivateKeyKey] = []byte{}, []byte{}
	delete(s.Data, vocabulary.KeyCA)
	delete(s.Data, vocabulary.KeyOLMCA)
	delete(s.Annotations, vocabulary.AnnotationLeaf)
	served := bounded(trustworthy(newestFirst(append(m.registered(), m.previous...)), m.now))
	s.Data[vocabulary.KeyPreviousCAs] = encode(served...)
	note(s, vocabulary.AnnotationPreviousEnds, m.latest(served))
}

// promote gives next to pods, and goes on trusting what they serve until they do.
func (m *machine) promote(s *corev1.Secret) {
	previous, ends, order := slices.Clone(m.previous), m.previousEnds, s.Annotations[vocabulary.AnnotationOrderDone]
	if m.current != nil {
		previous = append([]*x509.Certificate{m.current.ca()}, previous...)
		if last := end(m.current.chain); last.After(ends) {
			ends = last
		}
	}
	previous = slices.DeleteFunc(previous, m.next.ca().Equal)
	m.storeCurrent(s, m.next, m.nextIssuer)
	if order != "" {
		s.Annotations[vocabulary.AnnotationOrderDone] = order // one that came since is for another rotation
	} else {
		delete(s.Annotations, vocabulary.AnnotationOrderDone)
	}
	m.awaitProof(s, previous, ends)
}

// awaitProof has previous trusted until pods are seen to serve the current generation.
func (m *machine) awaitProof(s *corev1.Secret, previous []*x509.Certificate, ends time.Time) {
	if len(previous) > 0 {
		s.Data[vocabulary.KeyPreviousCAs] = encode(newestFirst(trustworthy(previous, m.now))...)
	}
	note(s, vocabulary.AnnotationPromoted, m.now)
	note(s, vocabulary.AnnotationPreviousEnds, ends)
}

// latest is when the last of some CAs ends; now when there is none.
func (m *machine) latest(authorities []*x509.Certificate) time.Time {
	last := m.now
	for _, ca := range authorities {
		if ca.NotAfter.After(last) {
			last = ca.NotAfter
		}
	}
	return last
}

// retire ends the trust in everything but the current generation.
func (m *machine) retire(s *corev1.Secret) {
	delete(s.Data, vocabulary.KeyPreviousCAs)
	delete(s.Annotations, vocabulary.AnnotationPromoted)
	delete(s.Annotations, vocabulary.AnnotationPreviousEnds)
}

func note(s *corev1.Secret, annotation string, at time.Time) {
	s.Annotations[annotation] = at.UTC().Format(time.RFC3339Nano)
}
