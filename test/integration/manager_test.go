package integration

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/sirupsen/logrus"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/clients"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/metrics"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/prober"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmoperator"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

type manager struct {
	*env
	userAgent string // of its own, for the audit log
	started   int64  // where in the audit log
	metrics   *prometheus.Registry
	events    chan string
	stop      func()
}

// options are a manager's for the test's Namespace. No webhook answers in this package, so
// webhooks are registered when their Deployments are available.
func options(e *env) controller.Options {
	o := controller.Options{Namespaces: []string{e.namespace}, Rollout: rollout.DefaultPolicy(), Certificates: certs.DefaultPolicy(), Workers: 4}
	o.Rollout.Gate = rollout.GateAvailable
	o.Rollout.StatusDelay = 0                     // tests have none
	o.Certificates.Settle = 50 * time.Millisecond // there is one API server, and no client calls its webhooks
	o.APIServers = func(context.Context) prober.Servers { return prober.Servers{Obstacle: "tests set the settle time"} }
	return o
}

// patiently has a manager report what an installation waits for as it does by default.
func patiently(o *controller.Options) { o.Rollout.StatusDelay = rollout.DefaultPolicy().StatusDelay }

func (e *env) manage(change ...func(*controller.Options)) *manager {
	e.Helper()
	return manageThrough(e, cluster.Config(), change...)
}

func runOperator(e *env, change ...func(*controller.Options)) *manager {
	e.Helper()
	m := e.manage(change...)
	e.install(csv("operator.v1", "server"))
	return m
}

// newRunningOperator is newOperatorEnv with a manager and the operator operator.v1, which has succeeded.
func newRunningOperator(t *testing.T) (*env, *manager) {
	t.Helper()
	e := newOperatorEnv(t)
	return e, runOperator(e)
}

func manageThrough(e *env, config *rest.Config, change ...func(*controller.Options)) *manager {
	e.Helper()
	return manageWith(e, config, nil, change...)
}

// manageWith runs more controllers next to the manager's own.
func manageWith(e *env, config *rest.Config, more additional, change ...func(*controller.Options)) *manager {
	e.Helper()
	e.managers++
	m := &manager{env: e, userAgent: fmt.Sprintf("%s/%d", e.namespace, e.managers), started: auditEnd(e), metrics: prometheus.NewRegistry()}
	recorder := record.NewFakeRecorder(1000) // more than any test has: it blocks when it is full
	m.events = recorder.Events
	config.UserAgent = m.userAgent
	options := options(e)
	for _, f := range change {
		f(&options)
	}
	clients, err := clients.New(config)
	e.must(err)
	c, err := controller.New(clients, recorder, metrics.New(m.metrics), logger(), options)
	e.must(err)
	all := olmoperator.Controllers{c}
	if more != nil {
		all = append(all, more(clients, c.Caches(), recorder)...)
	}
	m.stop = kube.RunController(e, all)
	return m
}

type additional func(clients.Set, *informers.Caches, record.EventRecorder) olmoperator.Controllers

// logger reports nothing unless MANAGER_LOG is set.
func logger() *logrus.Entry {
	log := logrus.New()
	log.SetOutput(io.Discard)
	if os.Getenv("MANAGER_LOG") != "" {
		log.SetOutput(os.Stderr)
	}
	return logrus.NewEntry(log)
}

// passes is how often the manager has reconciled an object of the kind, to the end or, with the
// outcome "waiting", no further than to what it wrote before.
func (m *manager) passes(kind string, but ...string) (n uint64) {
	m.Helper()
	families, err := m.metrics.Gather()
	m.must(err)
	for _, family := range families {
		if family.GetName() != "olm_webhook_manager_reconcile_duration_seconds" {
			continue
		}
		for _, metric := range family.GetMetric() {
			labels := map[string]string{}
			for _, label := range metric.GetLabel() {
				labels[label.GetName()] = label.GetValue()
			}
			if labels["kind"] == kind && !slices.Contains(but, labels["outcome"]) {
				n += metric.GetHistogram().GetSampleCount()
			}
		}
	}
	return n
}

// looksAfter waits until the manager has reconciled the test's ClusterServiceVersions, to the end, because of a change.
func (m *manager) looksAfter(change func()) {
	m.Helper()
	looks := func() uint64 { return m.passes("ClusterServiceVersion", "waiting") }
	before := looks()
	change()
	m.eventually("the manager reconciles what has changed", func() (bool, any) { return looks() > before, before })
}

// looksAgain waits until the manager has reconciled a ClusterServiceVersion as it is now:
// one reconciliation may have begun before, and one more be queued for an earlier change.
func (m *manager) looksAgain(csv string) {
	m.Helper()
	for range 3 {
		m.looksAfter(func() { touch(m.env, csv) })
	}
}

// settles waits until reconciliations write nothing. Those of other versions count, too: a write of the first ones may follow.
func (m *manager) settles(csv string) {
	m.Helper()
	m.eventually("the manager writes nothing", func() (bool, any) {
		since := auditEnd(m.env)
		m.looksAgain(csv)
		writes := m.writes(since)
		return len(writes) == 0, writes
	})
}

// rests waits until nothing that happened has the manager reconcile a ClusterServiceVersion any
// more: it has not for longer than it waits for its own writes to return, independent of what else is done meanwhile.
func (m *manager) rests(meanwhile ...func()) {
	m.Helper()
	m.restsFor(60, meanwhile...)
}

// restsFor waits until it has not been reconciled for so many polls. What is counted are the reconciliations of
// all ClusterServiceVersions, those of other tests as well.
func (m *manager) restsFor(while int, meanwhile ...func()) {
	m.Helper()
	if m.parallel {
		m.Fatal("whether the manager rests is not known while other tests run: use newEnv")
	}
	last, polls := m.passes("ClusterServiceVersion"), 0
	poll(m.env, wait.Backoff{Duration: 20 * time.Millisecond}, "the manager rests", func() (bool, any) {
		now := m.passes("ClusterServiceVersion")
		if polls++; now != last {
			last, polls = now, 0
		}
		for _, do := range meanwhile {
			do()
		}
		return polls >= while, now
	})
}

func (m *manager) reported() (events []string) {
	for {
		select {
		case event := <-m.events:
			events = append(events, event)
		default:
			return events
		}
	}
}

func (m *manager) emits(event string) {
	m.Helper()
	var seen []string
	m.eventually("event "+event, func() (bool, any) {
		select {
		case emitted := <-m.events:
			seen = append(seen, emitted)
			return strings.HasPrefix(emitted, event), seen
		default:
			return false, seen
		}
	})
}
