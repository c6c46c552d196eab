package certs

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// pod serves what it loaded from its files.
type pod struct {
	name          string
	files, loaded *served   // loaded is nil while it starts
	looksAt       time.Time // when its kubelet does
	loadsAt       time.Time // when it looks at its files; zero for never
	nudged        time.Time
	created       time.Time // or replaced, by another of its name
	hangs         bool
}

// served is a pair as a server reads it.
type served struct {
	certificate         string
	leaf                string // its fingerprint
	notBefore, notAfter time.Time
	ca, names           string // of the CAs beside it
}

// mounted is what the Secret gives to pods; nil where a kubelet finds a key missing and
// leaves a pod's files as they are, or a server finds no pair.
func (w *world) mounted() *served {
	secret := w.secret.last()
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

// addPod has one come. It takes a while to serve, once there is something to mount, and serves
// what it found there at first.
func (w *world) addPod() {
	w.born++
	p := &pod{name: fmt.Sprint("pod-", w.born), created: w.now}
	w.pods = append(w.pods, p)
	w.mount(p, func(found *served) {
		p.looksAt = w.now.Add(w.upTo(90 * time.Second))
		w.tell("%s comes with %s", p.name, found.names)
		w.in(w.upTo(20*time.Second), func() {
			if p.loaded == nil { // else it was replaced meanwhile
				p.loaded = found
				w.tell("%s serves %s", p.name, found.names)
				w.changed()
			}
		})
	})
}

// mount gives a pod what there is to mount, once there is.
func (w *world) mount(p *pod, mounted func(*served)) {
	found := w.mounted()
	if found == nil {
		w.in(time.Second, func() { w.mount(p, mounted) })
		return
	}
	p.files = found
	mounted(found)
}

// replace has another pod of its name serve in place of one, as soon as it can.
func (w *world) replace(p *pod) {
	w.mount(p, func(found *served) {
		p.loaded, p.loadsAt, p.hangs, p.created = found, time.Time{}, false, w.now
		p.looksAt = w.now.Add(w.upTo(90 * time.Second))
		w.tell("%s starts with %s", p.name, found.names)
		w.changed()
	})
}

// kubelet brings a pod what the Secret holds, late, and the pod loads it, if it does.
func (w *world) kubelet(p *pod) {
	if p.hangs || p.files == nil {
		return
	}
	if !p.looksAt.After(w.now) {
		if s := w.mounted(); s != nil && s.certificate != p.files.certificate {
			w.tell("%s is brought %s", p.name, s.names)
			p.files, p.loadsAt = s, w.now.Add(w.upTo(w.loads))
		}
		p.looksAt = w.now.Add(60*time.Second + w.upTo(30*time.Second))
	}
	if w.reloads && p.loaded != nil && !p.loadsAt.IsZero() && !p.loadsAt.After(w.now) {
		p.loaded, p.loadsAt = p.files, time.Time{}
	}
}

// follow is what kubelets and the Deployment controller make of a decision.
func (w *world) follow(d Decision) {
	for _, p := range w.pods {
		if slices.Contains(d.ResyncPods, p.name) {
			p.nudged, p.looksAt = w.clock(), earliest(w.now, p.looksAt, w.now.Add(w.upTo(2*time.Second)))
		}
	}
	if d.Restart && d.Serving != nil && w.restartedFor != strconv.FormatInt(d.Serving.Number, 10) {
		w.restartedFor = strconv.FormatInt(d.Serving.Number, 10)
		for i, p := range w.pods {
			w.in(time.Duration(i+1)*3*time.Second, func() { w.replace(p) })
		}
	}
}

// evidence is what pods answer; some do not.
func (w *world) evidence(d Decision) *Evidence {
	seen := &Evidence{}
	if d.Serving == nil {
		return seen
	}
	seen.Leaf = d.Serving.Leaf
	for _, p := range w.pods {
		b := Backend{Pod: p.name, ResyncedAt: p.nudged, Created: p.created, Message: p.name}
		switch {
		case p.hangs || p.loaded == nil || w.random.chance(10):
			b.Serves = ServesUnknown
		case p.loaded.leaf != d.Serving.Leaf:
			b.Serves = ServesOther
		}
		seen.Backends = append(seen.Backends, b)
	}
	return seen
}

// spoil edits a key of the Secret; nil deletes it.
func (w *world) spoil(key string, value []byte) {
	w.editSecret(func(s *corev1.Secret) {
		s.Data = with(s.Data, map[string][]byte{key: bytes.Clone(value)}) // somebody else's may hold nothing
		if value == nil {
			delete(s.Data, key)
		}
	})
}

func (w *world) editSecret(change func(*corev1.Secret)) {
	if last := w.secret.last(); last != nil {
		edited := last.DeepCopy()
		change(edited)
		w.store(edited)
	}
}
