package campaign

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmclient"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/robustness/apiserver"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/robustness/etcd"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/robustness/history"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/robustness/judge"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/robustness/recorder"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/robustness/world"
)

// Result is what became of a run.
type Result struct {
	// Problem is why the run did not come to its end; empty if it did.
	Problem    string
	Violations []judge.Violation
	History    history.History
	// Failures are the requests of the manager that failed.
	Failures []Failure
	// Crashes is how many managers crashed.
	Crashes int
}

// The user agents of all clients except managers.
const (
	authorAgent        = "author"
	administratorAgent = "administrator"
	neighbourAgent     = "neighbour"
)

// probes is the suffix of the names of the manager's canaries.
const probes = ".canary.olm-webhook-manager.io"

// calm is how long the run waits before it expects that the manager writes nothing, and for how long it expects that.
const calm = 10 * time.Minute

// run is a scenario that is carried out.
type run struct {
	*world.World
	ctx                      context.Context //nolint:containedctx // the life of the run
	scenario                 Scenario
	recorder                 *recorder.Recorder
	failures                 *failures
	process                  *process
	author, admin, neighbour client

	mutex sync.Mutex
	why   string
}

// Run carries out a scenario in a cluster that begins with a snapshot (world.Defined), in a synctest bubble. It returns after everything that it has
// started has ended.
func Run(ctx context.Context, start etcd.Snapshot, s Scenario) Result {
	ctx, cancel := context.WithCancel(ctx)
	w, err := world.New(ctx, len(s.Late), etcd.NewStoreFrom(start), s.Seed, s.Delays)
	if err != nil {
		cancel()
		return Result{Problem: err.Error()}
	}
	r := &run{World: w, ctx: ctx, scenario: s, recorder: recorder.New(roleOf, probes), failures: newFailures(s)}
	r.process = &process{run: r, crashes: s.Crashes, crash: make(chan struct{}, 1)}
	w.Recorder, w.Observer, w.Fault = r.recorder, r.recorder, r.fault
	for i, late := range s.Late {
		w.Server(i).View().SetLag(late)
	}
	var managers sync.WaitGroup
	if err := r.connect(); err != nil {
		r.problem("%v", err)
	} else {
		managers.Go(func() { r.process.main(ctx) })
		r.carryOut()
	}
	cancel()
	managers.Wait()
	w.Wait()
	h := r.recorder.History()
	return Result{Problem: r.why, Violations: judge.Judge(h), History: h, Failures: r.failures.list(), Crashes: r.process.crashed()}
}

// carryOut performs the steps of all operators at once, waits until the manager has completed them, and expects no writes after that.
func (r *run) carryOut() {
	var operators sync.WaitGroup
	all := make([]*operator, len(r.scenario.Operators))
	for i, o := range r.scenario.Operators {
		all[i] = &operator{run: r, Operator: o, number: i}
		operators.Go(all[i].live)
	}
	busy, rest := context.WithCancel(r.ctx)
	var clients sync.WaitGroup
	clients.Go(func() { r.check(r.collectGarbage(busy)) })
	for _, s := range r.Servers() {
		clients.Go(func() { r.check(r.ask(busy, s)) })
	}
	operators.Wait()
	r.failures.end()
	for _, o := range all {
		o.await("the end")
	}
	time.Sleep(3 * garbageInterval)
	rest()
	clients.Wait()
	if r.failed() {
		return
	}
	time.Sleep(calm)
	r.recorder.Condition(history.Condition{ID: "quiet", Kind: history.Quiet, Begin: true})
	time.Sleep(calm)
	r.recorder.Condition(history.Condition{ID: "quiet", Kind: history.Quiet})
}

func (r *run) fault(request apiserver.Request) apiserver.Fault {
	if !strings.HasPrefix(request.UserAgent, managerAgent) {
		return apiserver.Fault{}
	}
	if fault, crashed := r.process.fault(request); crashed {
		return fault
	}
	return r.failures.of(request)
}

// problem keeps the first reason why the run does not come to its end.
func (r *run) problem(format string, args ...any) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.why == "" && r.ctx.Err() == nil {
		r.why = fmt.Sprintf(format, args...)
	}
}

func (r *run) check(err error) {
	if err != nil {
		r.problem("%v", err)
	}
}

func (r *run) failed() bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.why != ""
}

// client is a client of the cluster that is not the manager.
type client struct {
	*olmclient.Client
	kube kubernetes.Interface
}

func newClient(server *apiserver.Server, agent string) (client, error) {
	config := server.Config(apiserver.Admin)
	config.UserAgent = agent
	olm, errOLM := olmclient.New(config)
	kube, errKube := kubernetes.NewForConfig(config)
	return client{olm, kube}, errors.Join(errOLM, errKube)
}

func (r *run) connect() error {
	var errs []error
	for agent, c := range map[string]*client{authorAgent: &r.author, administratorAgent: &r.admin, neighbourAgent: &r.neighbour} {
		connected, err := newClient(r.Server(0), agent)
		*c, errs = connected, append(errs, err)
	}
	return errors.Join(errs...)
}

func roleOf(userAgent string) history.Role {
	switch userAgent {
	case authorAgent:
		return history.Author
	case administratorAgent:
		return history.Administrator
	case neighbourAgent:
		return history.Neighbour
	}
	if strings.HasPrefix(userAgent, managerAgent) {
		return history.Manager
	}
	return history.ControlPlane
}
