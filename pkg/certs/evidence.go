package certs

import (
	"fmt"
	"slices"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
)

// Observation is which certificate a backend presents.
type Observation int

const (
	// ServesCurrent means that the backend presents the expected certificate.
	ServesCurrent Observation = iota
	// ServesOther means that the backend presents another certificate.
	ServesOther
	// ServesUnknown means that the backend cannot be dialled or does not answer.
	ServesUnknown
)

// Backend is a pod that API servers may call through a Service, or an endpoint without a pod.
type Backend struct {
	// Pod is the name of the pod; empty for an endpoint without a pod.
	Pod    string
	Serves Observation
	// Message is what the backend presents instead, or why that is not known.
	Message string
	// ResyncedAt is when its kubelet was last made to re-sync its volumes; zero for never.
	ResyncedAt time.Time
	// Created bounds which Secret the pod has mounted. Zero for an endpoint without a pod.
	Created time.Time
}

// Evidence is what the backends of a Service present, observed after the other facts were read.
type Evidence struct {
	// Leaf is the expected fingerprint (see Serving.Leaf), because evidence counts for one certificate.
	Leaf string
	// ThroughAPIServer is set if the API server was made to call the backends, which costs some writes.
	ThroughAPIServer bool
	// Backends are the non-terminal pods behind the desired and the live Service, and every endpoint that
	// serves or terminates. A pod without a matching port counts only if it belongs to the Deployment. A pod
	// that cannot be dialled is ServesUnknown. If pods were listed, an empty list proves that none serves
	// another certificate.
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

// complete is true without backends, too.
func (e Evidence) complete() bool { return e.count(ServesCurrent) == len(e.Backends) }

func (e Evidence) counts() *managerv1alpha1.CertificateEndpoints {
	return &managerv1alpha1.CertificateEndpoints{
		Total: int32(len(e.Backends)), Updated: int32(e.count(ServesCurrent)), Outdated: int32(e.count(ServesOther)), Unknown: int32(e.count(ServesUnknown)),
	}
}

func (e Evidence) String() string { return e.counts().String() }

// missing returns why the evidence is not complete: the first gap by text.
func (e Evidence) missing() string {
	messages := lists.FilterMap(e.Backends, func(b Backend) (string, bool) { return b.Message, b.Serves != ServesCurrent })
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

// maxResyncPause limits the backoff. A pod that takes a day to start must not wait another day.
const maxResyncPause = 10 * time.Minute

// resyncTimes returns the last and the next time of a re-sync. The intervals double, because kubelets observe late.
func resyncTimes(promoted, now time.Time) (last, next time.Time) {
	last, pause := promoted, time.Second
	for next = promoted.Add(pause); !next.After(now); next = next.Add(pause) {
		last = next
		pause = min(2*pause, maxResyncPause)
	}
	return last, next
}

// A recorded time in the future comes from a clock that was set back.
func (e Evidence) podsToResync(promoted, now time.Time) []string {
	due, _ := resyncTimes(promoted, now)
	return lists.FilterMap(e.Backends, func(b Backend) (string, bool) {
		return b.Pod, b.Pod != "" && b.Serves != ServesCurrent && (b.ResyncedAt.Before(due) || b.ResyncedAt.After(now))
	})
}

// Sampling is about calls that a Service distributes, and that trust one certificate's CA alone.
type Sampling struct {
	// Worthwhile is set if the calls should be made.
	Worthwhile bool
	// Inconclusive is why successful calls prove nothing; empty if they prove that all backends serve it.
	Inconclusive string
}

// Sampling returns how to sample. unsampled is why calls do not reach every backend equally. A failure shows
// in any case that a backend serves another certificate, and pods are restarted soon.
func (s *Serving) Sampling(unsampled string) Sampling {
	switch {
	case s.SharesCA:
		return Sampling{Inconclusive: "they succeed with the previous certificate as well"}
	case unsampled != "":
		return Sampling{Worthwhile: s.Recent, Inconclusive: unsampled}
	default:
		return Sampling{Worthwhile: true}
	}
}

// After searchDuration, the previous CA stays trusted until the pods are restarted.
const searchDuration = 10 * time.Minute
