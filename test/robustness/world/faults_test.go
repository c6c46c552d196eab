package world

import (
	"context"
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/robustness/apiserver"
)

var (
	runs = flag.Int("runs", 2, "how many runs with faults")
	seed = flag.Uint64("seed", 1, "the first seed")
)

// Requests of the manager fail at random: they are refused, slow, or lost, or their answers are. It installs and rotates all the same.
func TestFaultsOfRequests(t *testing.T) {
	start := Defined(t, root)
	for n := *seed; n < *seed+uint64(*runs); n++ {
		synctest.Test(t, func(t *testing.T) {
			m := runWith(t, start, 1, n, (&faults{seed: n, asked: map[string]uint64{}}).of)
			m.install()
			m.rotate()
			if t.Failed() {
				t.Log("seed", n)
			}
		})
	}
}

// faults fails one in twenty requests of the manager. The fault of a request depends on what is asked for, and on how often it
// was asked before. So it does not depend on the order of concurrent requests.
type faults struct {
	seed  uint64
	mutex sync.Mutex
	asked map[string]uint64
}

func (f *faults) of(request apiserver.Request) apiserver.Fault {
	if request.UserAgent != managerAgent {
		return apiserver.Fault{}
	}
	info := request.Info
	what := fmt.Sprint(info.Verb, info.APIGroup, info.Resource, info.Subresource, info.Namespace, info.Name)
	f.mutex.Lock()
	f.asked[what]++
	times := f.asked[what]
	f.mutex.Unlock()
	h := fnv.New64a()
	fmt.Fprint(h, what, times)
	if r := rand.New(rand.NewPCG(f.seed, h.Sum64())); r.IntN(20) == 0 {
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

// The manager crashes after each of its writes in turn: the write has its effect, and nothing later has. Another manager
// completes what it began.
func TestCrashes(t *testing.T) {
	start := Defined(t, root)
	r := rand.New(rand.NewPCG(*seed, 1))
	for range *runs {
		after := 1 + r.Int64N(45)
		synctest.Test(t, func(t *testing.T) {
			var writes atomic.Int64
			crashed := make(chan struct{})
			m := runWith(t, start, 1, 1, func(request apiserver.Request) apiserver.Fault {
				if request.UserAgent != managerAgent {
					return apiserver.Fault{}
				}
				if !request.Writes() {
					return apiserver.Fault{LostRequest: writes.Load() >= after}
				}
				switch n := writes.Add(1); {
				case n == after:
					close(crashed)
					return apiserver.Fault{LostAnswer: true}
				case n > after:
					return apiserver.Fault{LostRequest: true}
				}
				return apiserver.Fault{}
			})
			m.running.Go(func() {
				select {
				case <-crashed:
					m.startManager(successorAgent)
				case <-m.ctx.Done():
				}
			})
			m.install()
			m.rotate()
			t.Log("crash after write", after)
		})
	}
}
