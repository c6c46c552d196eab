package campaign

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/sirupsen/logrus"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/clients"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/metrics"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/prober"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/robustness/apiserver"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/robustness/world"
)

// managerAgent is the prefix of the user agents of managers. A number follows.
const managerAgent = "manager-"

// newManager returns a manager at the last API server.
func newManager(w *world.World, agent string, reachable bool) (*controller.Controller, error) {
	set, err := clients.New(configOf(w.Last(), agent))
	if err != nil {
		return nil, err
	}
	options := controller.Options{Rollout: rollout.DefaultPolicy(), Certificates: certs.DefaultPolicy(), Workers: 4, Dial: w.DialAs(agent)}
	if reachable {
		found := serversOf(w, agent)
		options.APIServers = func(context.Context) prober.Servers { return found }
	}
	return controller.New(set, record.NewFakeRecorder(1000), metrics.New(prometheus.NewRegistry()), logger(), options)
}

func configOf(s *apiserver.Server, agent string) *rest.Config {
	config := s.Config(installtest.ManagerUser)
	config.UserAgent = agent
	return config
}

// serversOf returns the API servers, each at its own address.
func serversOf(w *world.World, agent string) prober.Servers {
	found := prober.Servers{Each: map[string]*rest.Config{}, Any: configOf(w.Last(), agent), Number: len(w.Servers())}
	for _, s := range w.Servers() {
		found.Each[s.Name] = configOf(s, agent)
	}
	return found
}

// logger reports nothing unless MANAGER_LOG is set.
func logger() *logrus.Entry {
	log := logrus.New()
	log.SetOutput(io.Discard)
	if os.Getenv("MANAGER_LOG") != "" {
		log.SetOutput(os.Stderr)
	}
	return logrus.NewEntry(log)
}

// process is one manager after the other: when one crashes, the next one starts.
type process struct {
	run     *run
	crashes []int // writes of each manager in turn

	number atomic.Int32 // of the present manager
	writes atomic.Int32 // of it
	crash  chan struct{}
}

// crashed returns how many managers have crashed.
func (p *process) crashed() int { return min(int(p.number.Load()), len(p.crashes)) }

func (p *process) agent() string { return fmt.Sprint(managerAgent, p.number.Load()) }

// main runs managers until the context ends.
func (p *process) main(ctx context.Context) {
	for ctx.Err() == nil {
		life, exit := context.WithCancel(ctx)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			p.live(life)
		}()
		select {
		case <-p.crash:
		case <-ctx.Done():
		}
		exit()
		<-ended
		if ctx.Err() != nil {
			return
		}
		p.writes.Store(0)
		p.number.Add(1)
	}
}

// live runs one manager. One that cannot fill its caches starts again a second later, as its pod does.
func (p *process) live(ctx context.Context) {
	for ctx.Err() == nil {
		attempt, exit := context.WithCancel(ctx)
		c, err := newManager(p.run.World, p.agent(), p.run.scenario.Reachable)
		if err != nil {
			exit()
			p.run.problem("a manager: %v", err)
			return
		}
		if c.Fill(attempt) != nil {
			exit() // Run ends what New began
		}
		c.Run(attempt)
		exit()
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
	}
}

// fault returns what goes wrong with a request of a manager because it crashes: after the write at which it does, nothing reaches an API server.
func (p *process) fault(request apiserver.Request) (fault apiserver.Fault, crashed bool) {
	number := int(p.number.Load())
	if request.UserAgent != fmt.Sprint(managerAgent, number) {
		return apiserver.Fault{LostRequest: true}, true // of a manager that has crashed
	}
	if number >= len(p.crashes) {
		return apiserver.Fault{}, false
	}
	writes := p.writes.Load()
	if request.Writes() {
		writes = p.writes.Add(1)
	}
	switch after := int32(p.crashes[number]); {
	case writes < after:
		return apiserver.Fault{}, false
	case writes == after && request.Writes():
		select {
		case p.crash <- struct{}{}:
		default:
		}
		return apiserver.Fault{LostAnswer: true}, true
	default:
		return apiserver.Fault{LostRequest: true}, true
	}
}
