package certs

import (
	"fmt"
	"slices"
	"time"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
)

// Observation is which certificate somebody presents.
type Observation int

// The answers.
const (
	// ServesCurrent presents the certificate that was asked for.
	ServesCurrent Observation = iota
	// ServesOther presents another one.
	ServesOther
	// ServesUnknown cannot be asked, or does not answer.
	ServesUnknown
)

// Backend is a pod that API servers may reach through a Service, or an endpoint that is
// no pod's.
type Backend struct {
	// Pod is the name of the pod; empty for another endpoint.
	Pod string
	// Observation is what it presents.
	Serves Observation
	// Message says what it presents in place of the certificate that was asked for, or why
	// that is not known.
	Message string
	// ResyncedAt is when its kubelet was last made to look at its volumes; zero for never.
	ResyncedAt time.Time
	// Created is when the pod was, which has mounted what it was given then, or later; zero
	// for another endpoint.
	Created time.Time
}

// Evidence is what the backends of a Service were seen to serve, at one moment after
// the facts beside it were read.
type Evidence struct {
	// Leaf is the fingerprint of the certificate that they were asked for (see
	// Serving.Leaf): what was seen of one certificate must not count for another.
	Leaf string
	// ThroughAPIServer is set when the API server was asked in place of the backends, which
	// costs it some writes.
	ThroughAPIServer bool
	// Backends are every non-terminal pod behind the Service, as it is desired and as it is, and
	// every endpoint that serves or terminates. A pod that cannot be asked is one of them, which
	// serves nobody knows what. None is proof too, where the pods were listed: nobody is there
	// who could serve another.
	Backends []Backend
}

func (e Evidence) count(s Observation) int {
	n := 0
	for _, b := range e.Backends {
		if b.Serves == s {
			n++
		}
	}
	return n
}

// unknownSince counts the pods that existed at a time and are not known to serve what they were
// given then.
func (e Evidence) unknownSince(given time.Time) int {
	n := 0
	for _, b := range e.Backends {
		if b.Serves == ServesUnknown && !b.Created.After(given) {
			n++
		}
	}
	return n
}

// complete reports whether every backend serves the current certificate.
func (e Evidence) complete() bool { return e.count(ServesCurrent) == len(e.Backends) }

// counts returns the number of backends by the certificate that they serve.
func (e Evidence) counts() *managerv1alpha1.CertificateEndpoints {
	return &managerv1alpha1.CertificateEndpoints{
		Total: int32(len(e.Backends)), Updated: int32(e.count(ServesCurrent)), Outdated: int32(e.count(ServesOther)), Unknown: int32(e.count(ServesUnknown)),
	}
}

// String returns the counts for messages.
func (e Evidence) String() string { return e.counts().String() }

// missing returns why the evidence is not complete: the first gap by text.
func (e Evidence) missing() string {
	var messages []string
	for _, b := range e.Backends {
		if b.Serves != ServesCurrent {
			messages = append(messages, b.Message)
		}
	}
	slices.Sort(messages)
	switch len(messages) {
	case 0:
		return ""
	case 1:
		return messages[0]
	default:
		return fmt.Sprintf("%s (and %d more)", messages[0], len(messages)-1)
	}
}

// maxResyncPause bounds the backoff of nudges: a pod that takes a day to start must not
// wait another day.
const maxResyncPause = 10 * time.Minute

// resyncTimes returns the last time up to now at which a pod is touched, and the first after it.
// The intervals double from the promotion on: at once, after 1, 3, 7 seconds. The first can be too
// early, because kubelets observe a Secret with delay, too.
func resyncTimes(promoted, now time.Time) (last, next time.Time) {
	last, pause := promoted, time.Second
	for next = promoted.Add(pause); !next.After(now); next = next.Add(pause) {
		last = next
		pause = min(2*pause, maxResyncPause)
	}
	return last, next
}

// podsToResync returns the pods to touch now, so that their kubelets re-sync their volumes. A
// recorded time in the future comes from a clock that was set back.
func (e Evidence) podsToResync(promoted, now time.Time) []string {
	due, _ := resyncTimes(promoted, now)
	var pods []string
	for _, b := range e.Backends {
		if b.Pod != "" && b.Serves != ServesCurrent && (b.ResyncedAt.Before(due) || b.ResyncedAt.After(now)) {
			pods = append(pods, b.Pod)
		}
	}
	return pods
}
