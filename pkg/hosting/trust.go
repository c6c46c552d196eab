package hosting

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
)

const (
	// trustPeriod is how often the registrations and the Secret are compared with what is
	// served; trustRetry while something is to be done.
	trustPeriod = 10 * time.Second
	trustRetry  = time.Second
	// trustSettle is how long API servers may take to learn of a changed caBundle.
	trustSettle = 5 * time.Second
)

// trustKeeper has the existing registrations trust what the process serves, before it is ready
// and before it serves another certificate. It changes nothing else about a registration, and
// creates none.
type trustKeeper struct {
	server *webhookServer
	files  pairFiles
	pod    string // empty if unknown

	next     keyPair   // what was to be served at the last look
	nextFrom time.Time // from then on every API server trusts it
	writes   []time.Time
	failures int // in a row

	mu      sync.Mutex
	problem error
}

func newTrustKeeper(s *webhookServer) *trustKeeper {
	return &trustKeeper{
		server: s,
		files:  s.options.registration.files(s.certificate),
		// problem is for /readyz.
		problem: errors.New("the registrations have not been read yet"),
	}
}

func (k *trustKeeper) check() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.problem
}

// run looks again and again, until ctx ends.
func (k *trustKeeper) run(ctx context.Context) {
	for {
		settled, err := k.look(ctx, time.Now())
		if err != nil && ctx.Err() == nil {
			k.failures++
			klog.Errorf("Having the registrations trust the serving certificate, and trying again: %v", err)
			if k.check() != nil {
				k.note(err) // a process that is ready stays so while the API server cannot be asked
			}
		} else {
			k.failures = 0
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(k.pause(settled && err == nil, time.Now())):
		}
	}
}

// pause is longer the more often the registrations had to be written lately: another client
// may write them back each time.
func (k *trustKeeper) pause(settled bool, now time.Time) time.Duration {
	const lately, patience, longest = 10 * time.Minute, 5, 5 * time.Minute
	for len(k.writes) > 0 && now.Sub(k.writes[0]) > lately {
		k.writes = k.writes[1:]
	}
	pause := trustRetry
	if settled {
		pause = trustPeriod
	}
	if k.failures > 0 {
		pause = min(trustRetry<<min(k.failures, 8), trustPeriod)
	}
	if n := len(k.writes); n > patience {
		pause = max(pause, min(trustPeriod<<min(n-patience, 8), longest))
	}
	return pause
}

// look does what can be done now, and reports whether nothing is left to do.
func (k *trustKeeper) look(ctx context.Context, now time.Time) (settled bool, err error) {
	r, err := k.server.newTrustClient()
	if err != nil {
		return false, err
	}
	served := k.files.read()
	next, err := k.nextPair(ctx, r.client, served, now)
	if err != nil {
		return false, err
	}
	views, err := r.views(ctx, k.server.endpoints)
	if err != nil {
		return false, err
	}
	if served, err = k.replaceUnusable(served, next, now); err != nil {
		return false, err
	}
	untrusted := trustedBy(views, served, r.options.hosts[0], now)
	if err := k.trustNext(ctx, r, views, next, served, now); err != nil {
		if untrusted != nil {
			k.note(untrusted)
		}
		return false, err
	}
	trusted := !now.Before(k.nextFrom)
	if trusted && !next.equal(served) {
		if err := k.files.write(next); err != nil {
			return false, err
		}
		served, untrusted = next, nil
	}
	if untrusted == nil && next.equal(served) && !trusted {
		untrusted = errors.New("API servers have had no time yet to learn that they are to trust the serving certificate")
	}
	k.note(untrusted)
	return untrusted == nil && next.equal(served), nil
}

// replaceUnusable serves the next certificate at once where no client trusts the one that is served:
// there is nothing to wait for. It returns what is served then.
func (k *trustKeeper) replaceUnusable(served, next keyPair, now time.Time) (keyPair, error) {
	o := &k.server.options.registration
	if !o.selfSigned || served.problem(o.hosts, now) == nil {
		return served, nil
	}
	return next, k.files.write(next)
}

// trustNext has the registrations trust the next certificate, and sets from when on it may be
// served.
func (k *trustKeeper) trustNext(ctx context.Context, r *registrar, views []registrationView, next, served keyPair, now time.Time) error {
	// Another replica may have written the CA of a new certificate a moment ago. Where files are
	// replaced that this process did not write, and that are trusted, it stays ready.
	isNew := !next.equal(k.next) && (!next.equal(served) || k.check() != nil)
	k.next = next
	wrote, err := k.join(ctx, r, views, next, now)
	if err != nil || wrote || isNew && len(views) > 0 {
		k.nextFrom = now.Add(trustSettle)
	}
	return err
}

func (k *trustKeeper) note(problem error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.problem = problem
}

// nextPair returns the certificate that is to be served.
func (k *trustKeeper) nextPair(ctx context.Context, client kubernetes.Interface, served keyPair, now time.Time) (keyPair, error) {
	o := &k.server.options.registration
	if !o.selfSigned {
		if len(served.cert) == 0 || len(served.ca) == 0 {
			return keyPair{}, fmt.Errorf("the files %s and %s are not there yet", k.files.cert, k.files.ca)
		}
		return served, nil
	}
	if o.secretName != "" {
		shared := sharedCertificate{client: client, namespace: o.secretNamespace, name: o.secretName, process: k.server.clients.process, hosts: o.hosts}
		pair, err := shared.pair(ctx, served, now)
		if !errors.Is(err, errNotShared) {
			return pair, err
		}
		klog.V(2).Info(err)
	}
	for _, own := range []keyPair{served, k.next} {
		if own.problem(o.hosts, now.Add(renewedSpare)) == nil {
			return own, nil
		}
	}
	if k.pod == "" {
		k.pod = thisPod(ctx, client)
	}
	return mintSelfSigned(o.hosts, k.pod, now, renewedLife)
}

// join adds the CA to the registrations that do not trust the certificate.
func (k *trustKeeper) join(ctx context.Context, r *registrar, views []registrationView, next keyPair, now time.Time) (wrote bool, err error) {
	for _, v := range views {
		changed := false
		for _, config := range v.configs {
			if verify(config.CABundle, next.cert, r.options.hosts[0], now) == nil {
				continue
			}
			joined := joinAuthorities(next.ca, config.CABundle, livePodsIn(ctx, r.client, next), now)
			changed = changed || !bytes.Equal(joined, config.CABundle)
			config.CABundle = joined
		}
		if !changed {
			continue
		}
		if err := v.update(ctx); err != nil {
			return wrote, fmt.Errorf("%s: %w", v.name, err)
		}
		wrote = true
		k.writes = append(k.writes, now)
		klog.Infof("%s trusts the CA of the serving certificate now", v.name)
	}
	return wrote, nil
}

// trustedBy returns which registration does not trust the certificate.
func trustedBy(views []registrationView, served keyPair, host string, now time.Time) error {
	for _, v := range views {
		for _, config := range v.configs {
			if err := verify(config.CABundle, served.cert, host, now); err != nil {
				return fmt.Errorf("%s does not trust the serving certificate: %w", v.name, err)
			}
		}
	}
	return nil
}

// thisPod returns the owner that the CA of this process's own certificate names, or nothing if the
// pod cannot be read: then the CA leaves the bundles when it expires.
func thisPod(ctx context.Context, client kubernetes.Interface) string {
	name, err := os.Hostname()
	namespace := podNamespace()
	if err != nil || namespace == "" {
		return ""
	}
	pod, err := client.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		klog.V(2).Infof("The pod %s/%s cannot be read: %v", namespace, name, err)
		return ""
	}
	return podOwner(namespace, string(pod.UID))
}

// livePodsIn lists the pods of this process's namespace, or returns nil if that is not allowed or
// does not list this process's own pod, which the CA of the pair names.
func livePodsIn(ctx context.Context, client kubernetes.Interface, own keyPair) *livePods {
	namespace := podNamespace()
	if namespace == "" {
		return nil
	}
	list, err := client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		klog.V(2).Infof("The pods of namespace %s cannot be listed: %v", namespace, err)
		return nil
	}
	pods := &livePods{namespace: namespace, uids: map[string]bool{}}
	for i := range list.Items {
		pods.uids[string(list.Items[i].UID)] = true
	}
	for _, ca := range parsedCertificates(own.ca) {
		if pods.gone(ca) {
			return nil // this process runs: the list is of other pods
		}
	}
	return pods
}
