package e2e

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"flag"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/calls"
)

var timelineFile = flag.String("timeline", "", "draw the rotation of a server that reloads into this file, SVG")

// timeline is what a rotation looked like from outside: rows of values, each from an instant on.
type timeline struct {
	*env
	began time.Time
	mutex sync.Mutex
	names []string // of the rows, in their order
	lanes map[string][]change
	stop  func()
}

// change is from when on something was seen, and when it was last asked for and still so: both
// since the beginning. What is asked for may change before the answer arrives.
type change struct {
	at, still time.Duration
	value     string
}

const (
	lanePhase = "phase"
	laneTrust = "caBundle trusts"
)

// recordTimeline watches the phase of the certificate and the trust of the registration,
// and asks each of the pods for its certificate, again and again.
func recordTimeline(e *env) *timeline {
	e.Helper()
	ctx, cancel := context.WithCancel(e.ctx)
	l := &timeline{env: e, began: time.Now(), names: []string{lanePhase, laneTrust}, lanes: map[string][]change{}}
	l.noteRollout(e.certificate("hook.v1").Phase)
	l.noteTrust(new(e.registration()))
	rollouts, err := olmClient.WebhookRollouts(e.namespace).Watch(ctx, metav1.ListOptions{})
	e.must(err)
	registrations, err := kubeClient.AdmissionregistrationV1().ValidatingWebhookConfigurations().Watch(ctx, e.ours())
	e.must(err)
	pods, err := kubeClient.CoreV1().Pods(e.namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=hook"})
	e.must(err)
	var recording sync.WaitGroup
	recording.Go(func() { l.follow(rollouts) })
	recording.Go(func() { l.follow(registrations) })
	for i, pod := range pods.Items {
		lane := []string{"the one pod serves", "the other pod serves"}[i]
		l.names = append(l.names, lane)
		recording.Go(func() { l.ask(ctx, lane, pod.Status.PodIP) })
	}
	l.stop = sync.OnceFunc(func() {
		rollouts.Stop()
		registrations.Stop()
		cancel()
		recording.Wait()
	})
	e.Cleanup(l.stop)
	return l
}

func (l *timeline) follow(w watch.Interface) {
	for event := range w.ResultChan() {
		switch o := event.Object.(type) {
		case *managerv1alpha1.WebhookRollout:
			for _, d := range o.Status.Deployments {
				if d.Certificate != nil {
					l.noteRollout(d.Certificate.Phase)
				}
			}
		case *admissionregistrationv1.ValidatingWebhookConfiguration:
			l.noteTrust(o)
		}
	}
}

func (l *timeline) noteRollout(phase managerv1alpha1.CertificatePhase) {
	l.note(lanePhase, string(phase), time.Now())
}

func (l *timeline) noteTrust(c *admissionregistrationv1.ValidatingWebhookConfiguration) {
	var numbers []string
	for block, rest := pem.Decode(c.Webhooks[0].ClientConfig.CABundle); block != nil; block, rest = pem.Decode(rest) {
		if ca, err := x509.ParseCertificate(block.Bytes); err == nil {
			numbers = append(numbers, generationOf(ca))
		}
	}
	slices.Sort(numbers)
	l.note(laneTrust, strings.Join(numbers, " and "), time.Now())
}

func generationOf(c *x509.Certificate) string {
	number, _, _ := strings.Cut(c.Issuer.SerialNumber, "-")
	return number
}

// ask notes the certificate that a pod presents, twenty times a second.
func (l *timeline) ask(ctx context.Context, lane, ip string) {
	for tick := time.NewTicker(50 * time.Millisecond); ; {
		asked := time.Now()
		presented, err := presentedBy(ctx, ip)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			l.note(lane, "nothing", asked)
		default:
			l.note(lane, generationOf(presented), asked)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (l *timeline) note(lane, value string, asked time.Time) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	changes := l.lanes[lane]
	if len(changes) == 0 || changes[len(changes)-1].value != value {
		changes = append(changes, change{at: time.Since(l.began), value: value})
		l.lanes[lane] = changes
	}
	changes[len(changes)-1].still = asked.Sub(l.began)
}

// servesAnother reports whether a pod served another client's certificate during a call: its kubelet has looked before the manager
// replaced that. No manager can prevent it.
func (l *timeline) servesAnother(c calls.Call) bool {
	const margin = time.Second // Pods are asked now and then.
	l.mutex.Lock()
	defer l.mutex.Unlock()
	sent, answered := c.Sent.Sub(l.began), c.Answered.Sub(l.began)
	for _, changes := range l.lanes {
		for i, foreign := range changes {
			if foreign.value != strconv.Itoa(foreignGeneration) {
				continue
			}
			ended := foreign.still
			if i+1 < len(changes) {
				ended = changes[i+1].at
			}
			if answered >= foreign.at-margin && sent <= ended+margin {
				return true
			}
		}
	}
	return false
}

// leads ends the recording, and fails unless both CAs were trusted before any pod served
// the new certificate, and until none served the old one. Pods are asked now and then, so
// the manager may observe that one serves the new certificate, and drop the old CA, before the recording sees it.
func (l *timeline) leads(made []calls.Call) {
	l.Helper()
	l.stop()
	trusted := l.values(laneTrust)
	if strings.Join(trusted, ", ") != "1, 1 and 2, 2" {
		l.Fatalf("the caBundle trusted, one after the other, %q", trusted)
	}
	both, alone := l.lanes[laneTrust][1].at, l.lanes[laneTrust][2].at
	for _, lane := range l.names[2:] {
		served := l.lanes[lane]
		if values := strings.Join(l.values(lane), ", "); values != "1, 2" || served[1].at < both || served[0].still > alone {
			l.Errorf("%s %s, the first until %s, the last from %s on; both CAs were trusted from %s to %s", lane, values, served[0].still, served[len(served)-1].at, both, alone)
		}
	}
	for _, lane := range l.names {
		l.Logf("%s: %+v", lane, l.lanes[lane])
	}
	if *timelineFile != "" {
		l.must(os.WriteFile(*timelineFile, []byte(l.draw(made)), 0o644))
	}
}

func (l *timeline) values(lane string) []string {
	var all []string
	for _, c := range l.lanes[lane] {
		all = append(all, c.value)
	}
	return all
}
