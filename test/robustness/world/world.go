package world

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/robustness/apiserver"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/robustness/etcd"
)

// Delays are what takes time in a world.
type Delays struct {
	// Start is from the creation of a pod until it is ready.
	Start time.Duration
	// Stop is from the deletion of a pod until it does not serve any more. Its endpoint is not ready for this time.
	Stop time.Duration
	// Kubelet is the longest time from the change of a Secret until it is mounted. Each pod has a random one.
	Kubelet time.Duration
	// Reload is from the change of a mounted file until the process serves it. Negative means never.
	Reload time.Duration
	// Controllers is how long Deployments and EndpointSlices are behind their pods.
	Controllers time.Duration
}

// World is one simulated cluster.
type World struct {
	*apiserver.Cluster
	Kube kubernetes.Interface // of an administrator, at the first API server
	// Log gets what the controllers could not do, and retry.
	Log func(error)
	// Observer, if not nil, learns what pods serve. It is set before there are pods.
	Observer Observer

	delays  Delays
	random  *rand.Rand
	objects objects
	kicked  chan struct{}
	running sync.WaitGroup

	mutex sync.Mutex
	nodes map[string]*pod // by uid
	next  int             // address
}

// New returns a world with n API servers on a store, and its controllers. They run until the context ends.
func New(ctx context.Context, n int, store *etcd.Store, seed uint64, delays Delays) (*World, error) {
	cluster, err := apiserver.New(ctx, n, store)
	if err != nil {
		return nil, err
	}
	config := cluster.Server(0).Config(apiserver.Admin)
	config.UserAgent = "controllers"
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	w := &World{
		Cluster: cluster, Kube: kube, delays: delays, random: rand.New(rand.NewPCG(seed, seed)), kicked: make(chan struct{}, 1), Log: func(error) {}, nodes: map[string]*pod{},
	}
	cluster.Dial = w.Dial
	factory := informers.NewSharedInformerFactory(kube, 0)
	w.objects, err = newObjects(factory, w.kick)
	if err != nil {
		return nil, err
	}
	for _, server := range cluster.Servers() {
		if err := w.watchRegistrations(server); err != nil {
			return nil, err
		}
	}
	w.running.Go(func() { w.run(ctx, factory) })
	return w, cluster.Ready(ctx)
}

// Wait returns when every goroutine of the world has ended, after the end of the context.
func (w *World) Wait() {
	w.running.Wait()
	w.Cluster.Wait()
	time.Sleep(drain)
}

// drain is longer than goroutines of kube-apiserver wait for a timer without a context. They end when it fires, for which a bubble
// needs a running clock.
const drain = 5 * time.Minute

func (w *World) kick() {
	select {
	case w.kicked <- struct{}{}:
	default:
	}
}

// after calls kick later.
func (w *World) after(delay time.Duration) { time.AfterFunc(delay, w.kick) }

func (w *World) run(ctx context.Context, factory informers.SharedInformerFactory) {
	factory.StartWithContext(ctx)
	defer factory.Shutdown()
	defer w.stopPods()
	factory.WaitForCacheSync(ctx.Done())
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.kicked:
		}
		if w.delays.Controllers > 0 {
			time.Sleep(w.delays.Controllers)
		}
		w.step(ctx)
	}
}

// step does everything that is due. What fails is retried a second later.
func (w *World) step(ctx context.Context) {
	for _, do := range []func(context.Context) error{w.runDeployments, w.runPods, w.writeSlices} {
		if err := do(ctx); err != nil && ctx.Err() == nil {
			w.Log(err)
			w.after(time.Second)
		}
	}
}
