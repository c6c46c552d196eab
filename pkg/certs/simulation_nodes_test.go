package certs

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// nodes are the pods and their kubelets.
type nodes struct {
	*apiServer
	pods         []*pod
	podsCreated  int
	restartedFor string
	reloads      bool
	reloadDelay  time.Duration // longest time to reload
}

// pod serves the certificate that it loaded from its files.
type pod struct {
	name          string
	files, loaded *served   // loaded is nil until the pod serves
	requeueAt     time.Time // when the kubelet updates the files
	reloadAt      time.Time // when the pod reloads its files; zero for never
	resyncedAt    time.Time
	created       time.Time // or replaced by a pod with the same name
	unresponsive  bool
}

// served is a certificate with its CA as a server reads it.
type served struct {
	certificate         string
	leaf                string // fingerprint
	notBefore, notAfter time.Time
	ca, names           string // of the CAs in ca.crt
}

// mounted returns the files that pods mount from the Secret; nil if a key is missing: the kubelet
// does not change the files then, or the server finds no pair.
func (sim *nodes) mounted() *served {
	secret := sim.secret.last()
	if secret == nil || len(secret.Data[wellknown.KeyCA]) == 0 {
		return nil
	}
	chain := parse(secret.Data[corev1.TLSCertKey])
	if len(chain) == 0 {
		return nil
	}
	return &served{
		string(secret.Data[corev1.TLSCertKey]), hexSHA256(chain[0].Raw), chain[0].NotBefore, chain[0].NotAfter, string(secret.Data[wellknown.KeyCA]), numbersOf(parse(secret.Data[wellknown.KeyCA])),
	}
}

// addPod creates a pod. It starts to serve after a delay, with the files that it mounted at first.
func (sim *nodes) addPod() {
	sim.podsCreated++
	p := &pod{name: fmt.Sprint("pod-", sim.podsCreated), created: sim.now}
	sim.pods = append(sim.pods, p)
	sim.mount(p, func(found *served) {
		p.requeueAt = sim.now.Add(sim.upTo(90 * time.Second))
		sim.logf("%s mounts %s", p.name, found.names)
		sim.schedule(sim.upTo(20*time.Second), func() {
			if p.loaded == nil { // otherwise it was replaced meanwhile
				p.loaded = found
				sim.logf("%s serves %s", p.name, found.names)
				sim.changed()
			}
		})
	})
}

// mount mounts the Secret into a pod as soon as it is complete.
func (sim *nodes) mount(p *pod, mounted func(*served)) {
	found := sim.mounted()
	if found == nil {
		sim.schedule(time.Second, func() { sim.mount(p, mounted) })
		return
	}
	p.files = found
	mounted(found)
}

// replacePod replaces a pod by one with the same name as soon as the Secret can be mounted.
func (sim *nodes) replacePod(p *pod) {
	sim.mount(p, func(found *served) {
		p.loaded, p.reloadAt, p.unresponsive, p.created = found, time.Time{}, false, sim.now
		p.requeueAt = sim.now.Add(sim.upTo(90 * time.Second))
		sim.logf("%s starts with %s", p.name, found.names)
		sim.changed()
	})
}

// kubelet updates the files of a pod after a delay. The pod reloads them if it reloads at all.
func (sim *nodes) kubelet(p *pod) {
	if p.unresponsive || p.files == nil {
		return
	}
	if !p.requeueAt.After(sim.now) {
		if s := sim.mounted(); s != nil && s.certificate != p.files.certificate {
			sim.logf("the files of %s change to %s", p.name, s.names)
			p.files, p.reloadAt = s, sim.now.Add(sim.upTo(sim.reloadDelay))
		}
		p.requeueAt = sim.now.Add(60*time.Second + sim.upTo(30*time.Second))
	}
	if sim.reloads && p.loaded != nil && !p.reloadAt.IsZero() && !p.reloadAt.After(sim.now) {
		p.loaded, p.reloadAt = p.files, time.Time{}
	}
}

// applyToPods does what kubelets and the Deployment controller do after a decision.
func (sim *nodes) applyToPods(d Decision) {
	for _, p := range sim.pods {
		if slices.Contains(d.ResyncPods, p.name) {
			p.resyncedAt, p.requeueAt = sim.clock(), earliest(sim.now, p.requeueAt, sim.now.Add(sim.upTo(2*time.Second)))
		}
	}
	if d.Restart && d.Serving != nil && sim.restartedFor != strconv.FormatInt(d.Serving.Number, 10) {
		sim.restartedFor = strconv.FormatInt(d.Serving.Number, 10)
		for i, p := range sim.pods {
			sim.schedule(time.Duration(i+1)*3*time.Second, func() { sim.replacePod(p) })
		}
	}
}

// evidence returns the results of probes. Some pods do not respond.
func (sim *nodes) evidence(d Decision) *Evidence {
	seen := &Evidence{}
	if d.Serving == nil {
		return seen
	}
	seen.Leaf = d.Serving.Leaf
	for _, p := range sim.pods {
		b := Backend{Pod: p.name, ResyncedAt: p.resyncedAt, Created: p.created, Message: p.name}
		switch {
		case p.unresponsive || p.loaded == nil || sim.random.percent(10):
			b.Serves = ServesUnknown
		case p.loaded.leaf != d.Serving.Leaf:
			b.Serves = ServesOther
		}
		seen.Backends = append(seen.Backends, b)
	}
	return seen
}
