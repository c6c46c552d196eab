package registration

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/certificates"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/pod"
)

const (
	// trustPeriod is the interval of comparisons with the served certificate, trustRetry that while they differ.
	trustPeriod = 10 * time.Second
	trustRetry  = time.Second
	// trustSettle is the time in which API servers apply a changed caBundle.
	trustSettle = 5 * time.Second
)

// Trust adds the CA of the serving certificate to existing registrations, before the process is ready and before it
// serves another certificate. It changes no other field, and creates no registration.
type Trust struct {
	registrar *Registrar
	files     certificates.PairFiles
	pod       string // empty if unknown

	next     certificates.Pair // the certificate that was to be served at the last reconciliation
	nextFrom time.Time         // from then on, every API server trusts it
	writes   []time.Time
	failures int // consecutive
	changed  chan struct{}

	mu      sync.Mutex
	problem error
}

// NewTrust holds certificate files until the registrations of the registrar's webhooks trust them.
func NewTrust(r *Registrar) *Trust {
	t := &Trust{
		registrar: r,
		files:     r.Options.files(r.Certificate),
		changed:   make(chan struct{}, 1),
		problem:   errors.New("the registrations have not been read yet"),
	}
	if !r.Options.SelfSigned {
		r.Certificate.Hold()
		r.Certificate.AddListener(t)
	}
	return t
}

// Enqueue has the Trust reconcile at once, because the files have changed.
func (t *Trust) Enqueue() {
	select {
	case t.changed <- struct{}{}:
	default:
	}
}

// Check returns the reason why a registration does not trust the certificate that is served, or nil.
// It is a check of /readyz.
func (t *Trust) Check() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.problem
}

// Run reconciles until ctx ends.
func (t *Trust) Run(ctx context.Context) {
	for {
		settled, err := t.reconcile(ctx, time.Now())
		if err != nil && ctx.Err() == nil {
			t.failures++
			klog.ErrorS(err, "Cannot add the CA of the serving certificate to the registrations, retrying")
			if t.Check() != nil {
				t.setProblem(err) // a process that is ready stays ready while the API server does not answer
			}
		} else {
			t.failures = 0
		}
		select {
		case <-ctx.Done():
			return
		case <-t.changed:
		case <-time.After(t.pause(settled && err == nil, time.Now())):
		}
	}
}

// pause grows with the number of recent writes: another client may revert each of them.
func (t *Trust) pause(settled bool, now time.Time) time.Duration {
	const recent, tolerated, longest = 10 * time.Minute, 5, 5 * time.Minute
	for len(t.writes) > 0 && now.Sub(t.writes[0]) > recent {
		t.writes = t.writes[1:]
	}
	pause := trustRetry
	if settled {
		pause = trustPeriod
	}
	if t.failures > 0 {
		pause = min(trustRetry<<min(t.failures, 8), trustPeriod)
	}
	if n := len(t.writes); n > tolerated {
		pause = max(pause, min(trustPeriod<<min(n-tolerated, 8), longest))
	}
	return pause
}

func (t *Trust) reconcile(ctx context.Context, now time.Time) (settled bool, err error) {
	t.registrar.writing.Lock()
	defer t.registrar.writing.Unlock()
	s, err := t.registrar.newTrustSession()
	if err != nil {
		return false, err
	}
	served := t.served()
	next, err := t.nextPair(ctx, s.client, served, now)
	if err != nil {
		return false, err
	}
	registrations, err := s.ours(ctx)
	if err != nil {
		return false, err
	}
	if served, err = t.replaceUnusable(served, next, now); err != nil {
		return false, err
	}
	untrusted := checkTrust(registrations, served, s.Options.hosts[0], now)
	if err := t.trustNext(ctx, s, registrations, next, served, now); err != nil {
		if untrusted != nil {
			t.setProblem(untrusted)
		}
		return false, err
	}
	trusted := !now.Before(t.nextFrom)
	if trusted && !next.Equal(served) {
		if err := t.serve(next); err != nil {
			return false, err
		}
		served, untrusted = next, nil
	}
	if untrusted == nil && next.Equal(served) && !trusted {
		untrusted = fmt.Errorf("API servers may not have applied the new caBundle yet: wait %s", trustSettle)
	}
	t.setProblem(untrusted)
	return untrusted == nil && next.Equal(served), nil
}

func (t *Trust) served() certificates.Pair {
	served := t.files.Read()
	if !t.registrar.Options.SelfSigned {
		current := t.registrar.Certificate.Current()
		served.Cert, served.Key = current.Cert, current.Key
	}
	return served
}

func (t *Trust) serve(next certificates.Pair) error {
	if t.registrar.Options.SelfSigned {
		return t.files.Write(next)
	}
	t.registrar.Certificate.Serve(next)
	return nil
}

// replaceUnusable serves the next certificate at once if no client trusts the current one, and returns the served one.
func (t *Trust) replaceUnusable(served, next certificates.Pair, now time.Time) (certificates.Pair, error) {
	o := t.registrar.Options
	if !o.SelfSigned || served.Check(o.hosts, now) == nil {
		return served, nil
	}
	return next, t.files.Write(next)
}

// trustNext also sets the time from which the next certificate may be served.
func (t *Trust) trustNext(ctx context.Context, s *session, registrations []*live, next, served certificates.Pair, now time.Time) error {
	// Another replica may just have written the CA of a new certificate. If another program replaced
	// the files with a trusted certificate, this process stays ready.
	isNew := !next.Equal(t.next) && (!next.Equal(served) || t.Check() != nil)
	t.next = next
	wrote, err := t.join(ctx, s, registrations, next, now)
	if err == nil && !next.Equal(served) {
		if err = checkTrust(registrations, next, s.Options.hosts[0], now); err != nil {
			err = fmt.Errorf("the new certificate in %s is not served yet: check that %s contains its CA: %w", t.files.Cert, t.files.CA, err)
		}
	}
	if err != nil || wrote || isNew && len(registrations) > 0 {
		t.nextFrom = time.Now().Add(trustSettle) // The writes may have taken longer than trustSettle.
	}
	return err
}

func (t *Trust) setProblem(problem error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.problem = problem
}

func (t *Trust) nextPair(ctx context.Context, client kubernetes.Interface, served certificates.Pair, now time.Time) (certificates.Pair, error) {
	o := t.registrar.Options
	if !o.SelfSigned {
		if len(served.Cert) == 0 || len(served.CA) == 0 {
			return certificates.Pair{}, fmt.Errorf("the files %s and %s do not exist yet", t.files.Cert, t.files.CA)
		}
		next := t.registrar.Certificate.Next()
		next.CA = served.CA
		return next, nil
	}
	if o.secretName != "" {
		shared := certificates.Secret{Client: client, Namespace: o.secretNamespace, Name: o.secretName, Process: t.registrar.Process, Hosts: o.hosts}
		pair, err := shared.Pair(ctx, served, now)
		if !errors.Is(err, certificates.ErrNotShared) {
			return pair, err
		}
		klog.V(2).InfoS("The replicas do not share a certificate", "reason", err)
	}
	for _, own := range []certificates.Pair{served, t.next} {
		if own.Check(o.hosts, now.Add(certificates.RenewedRemaining)) == nil {
			return own, nil
		}
	}
	if t.pod == "" {
		t.pod = pod.Own(ctx, client)
	}
	return certificates.SelfSigned(o.hosts, t.pod, now, certificates.RenewedValidity)
}

func (t *Trust) join(ctx context.Context, s *session, registrations []*live, next certificates.Pair, now time.Time) (wrote bool, err error) {
	for _, l := range registrations {
		changed := false
		for _, config := range l.configs {
			if certificates.Verify(config.CABundle, next.Cert, s.Options.hosts[0], now) == nil {
				continue
			}
			joined := certificates.JoinBundles(next.CA, config.CABundle, pod.ReadList(ctx, s.client, certificates.Parse(next.CA)), now)
			changed = changed || !bytes.Equal(joined, config.CABundle)
			config.CABundle = joined
		}
		if !changed {
			continue
		}
		if err := l.updateBundles(ctx); err != nil {
			return wrote, fmt.Errorf("%s: %w", l.name, err)
		}
		wrote = true
		t.writes = append(t.writes, now)
		klog.InfoS("Added the CA of the serving certificate", "registration", l.name)
	}
	return wrote, nil
}

func checkTrust(registrations []*live, served certificates.Pair, host string, now time.Time) error {
	for _, l := range registrations {
		for _, config := range l.configs {
			if err := certificates.Verify(config.CABundle, served.Cert, host, now); err != nil {
				return fmt.Errorf("%s does not trust the certificate: %w", l.name, err)
			}
		}
	}
	return nil
}
