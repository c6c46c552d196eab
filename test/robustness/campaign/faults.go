package campaign

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/robustness/apiserver"
)

// failures fails requests of the manager. The fault of a request depends on what is asked for, and on how often it was asked before. So
// it does not depend on the order of concurrent requests for different things.
type failures struct {
	seed  uint64
	oneIn int
	fixed []Failure

	mutex    sync.Mutex
	asked    map[string]int
	ended    bool
	happened []Failure
}

func newFailures(s Scenario) *failures {
	return &failures{seed: s.Seed, oneIn: s.FailOneIn, fixed: s.Failures, asked: map[string]int{}}
}

// end lets all further requests succeed.
func (f *failures) end() {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.ended = true
}

// list returns the failures that happened.
func (f *failures) list() []Failure {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return append([]Failure(nil), f.happened...)
}

// of returns the fault of a request of the manager.
func (f *failures) of(request apiserver.Request) apiserver.Fault {
	info := request.Info
	what := fmt.Sprintf("%s %s.%s/%s %s", info.Verb, info.Resource, info.APIGroup, info.Subresource, info.Namespace)
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.asked[what]++
	if f.ended {
		return apiserver.Fault{}
	}
	one := Failure{Request: what, Number: f.asked[what]}
	one.Fault = f.drawn(one)
	if one.Fault != (apiserver.Fault{}) {
		f.happened = append(f.happened, one)
	}
	return one.Fault
}

func (f *failures) drawn(one Failure) apiserver.Fault {
	for _, fixed := range f.fixed {
		if fixed.Request == one.Request && fixed.Number == one.Number {
			return fixed.Fault
		}
	}
	h := fnv.New64a()
	fmt.Fprint(h, one.Request, one.Number)
	if r := rand.New(rand.NewPCG(f.seed, h.Sum64())); f.oneIn > 0 && r.IntN(f.oneIn) == 0 {
		return randomFault(r)
	}
	return apiserver.Fault{}
}

func randomFault(r *rand.Rand) apiserver.Fault {
	switch r.IntN(5) {
	case 0:
		return apiserver.Fault{LostRequest: true}
	case 1:
		return apiserver.Fault{LostAnswer: true}
	case 2:
		return apiserver.Fault{Delay: time.Duration(r.IntN(5000)) * time.Millisecond}
	case 3:
		return apiserver.Fault{Status: statusOf(apierrors.NewInternalError(context.DeadlineExceeded))}
	default:
		return apiserver.Fault{Status: statusOf(apierrors.NewTooManyRequests("busy", 1))}
	}
}

func statusOf(err *apierrors.StatusError) *metav1.Status {
	status := err.Status()
	return &status
}
