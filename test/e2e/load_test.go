package e2e

import (
	"context"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// load calls the webhook's resource every 20 ms with an object that it denies, without
// storing anything.
type load struct {
	mutex sync.Mutex
	calls []call
	stop  func()
}

// call is what became of one request.
type call struct {
	sent    time.Time
	outcome outcome
	err     error
}

type outcome int

const (
	denied    outcome = iota // the webhook answered
	uncovered                // nobody was asked
	failed                   // somebody was asked and did not answer
)

func (e *env) startLoad() *load {
	e.Helper()
	client, err := kubernetes.NewForConfig(config)
	e.must(err)
	ctx, cancel := context.WithCancel(e.ctx)
	l := &load{}
	var requests sync.WaitGroup
	requests.Go(func() {
		for tick := time.NewTicker(20 * time.Millisecond); ; {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				requests.Go(func() { l.call(context.WithoutCancel(ctx), client, e.namespace) })
			}
		}
	})
	l.stop = sync.OnceFunc(func() { cancel(); requests.Wait() })
	e.Cleanup(l.stop)
	return l
}

func (l *load) call(ctx context.Context, client kubernetes.Interface, namespace string) {
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "load-", Labels: map[string]string{"deny": "true"}}}
	c := call{sent: time.Now()}
	_, c.err = client.CoreV1().ConfigMaps(namespace).Create(ctx, object, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	switch {
	case c.err == nil:
		c.outcome = uncovered
	case strings.Contains(c.err.Error(), "labelled deny=true"):
		c.outcome = denied
	default:
		c.outcome = failed
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.calls = append(l.calls, c)
}

// denials counts what the webhook denied so far.
func (l *load) denials() int {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	n := 0
	for _, c := range l.calls {
		if c.outcome == denied {
			n++
		}
	}
	return n
}

// judge ends the load. No call may have failed, and none sent after live may have
// gone uncovered.
func (l *load) judge(e *env, live time.Time) {
	e.Helper()
	l.stop()
	count := map[outcome]int{}
	for _, c := range l.calls {
		count[c.outcome]++
		if c.outcome == failed {
			e.Errorf("call %s before Succeeded failed: %v", live.Sub(c.sent).Round(time.Millisecond), c.err)
		}
		if c.outcome == uncovered && c.sent.After(live) {
			e.Errorf("call %s after Succeeded was not covered", c.sent.Sub(live).Round(time.Millisecond))
		}
	}
	e.Logf("%d calls: %d uncovered before the webhook was live, %d denied, %d failed", len(l.calls), count[uncovered], count[denied], count[failed])
}
