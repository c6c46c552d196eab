package prober

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http/httptrace"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/webhookconfig"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/decide"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmclient"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/ending"
)

// AskAPIServers reads the registrations, and asks API servers for a limited time whether they have observed them.
func (p *Prober) AskAPIServers(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion, q decide.AskAPIServers, limit time.Duration) (asked decide.Propagation, err error) {
	if asked.Trust, err = p.Live.Trust(ctx, csv.Namespace, q.ReadTrust); err != nil {
		return asked, err
	}
	answer := p.ask(ctx, csv, q.Deployment, decide.KindsOf(asked.Trust), limit)
	if answer.left != nil {
		p.Log.WithError(answer.left).Warn("a canary stays until its ClusterServiceVersion is reconciled again")
	}
	asked.Found = answer.Propagation
	return asked, nil
}

// HaveObserved asks API servers for a limited time whether they have observed the end of webhook configurations. With an error, a
// marker may exist.
func (p *Prober) HaveObserved(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion, kinds webhookconfig.Kinds, limit time.Duration) (ending.Found, error) {
	asked := p.Now()
	answer := p.ask(ctx, csv, firstDeployment(csv), kinds, limit)
	return ending.Found{At: asked, Behind: answer.Behind}, answer.left
}

func firstDeployment(csv *operatorsv1alpha1.ClusterServiceVersion) string {
	return lists.First(csvspec.DeploymentNames(csv), func(string) bool { return true })
}

// answer is what API servers have observed.
type answer struct {
	certs.Propagation
	markers markers
	// gone is set if a marker was deleted meanwhile: API servers that are behind may have observed all of it.
	gone bool
	// left is why a marker may exist; nil if none does.
	left error
}

// ask asks API servers whether they have observed all writes of webhook configurations until now: an API server that has refuses
// an object because of a marker that is written now. The marker names a Deployment of the CSV.
func (p *Prober) ask(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion, deployment string, kinds webhookconfig.Kinds, limit time.Duration) answer {
	servers := p.APIServers(ctx)
	if servers.Number == 0 {
		return answer{Propagation: certs.Propagation{Unknown: servers.Obstacle}}
	}
	m := newMarkers(csv, deployment, kinds)
	p.Markers.Add(m.names(), p.Now())
	began, found := p.Now(), certs.Propagation{APIServers: servers.Number}
	if err := m.create(ctx, p); err != nil {
		found.Unknown = fmt.Sprintf("a marker of what API servers have observed cannot be written: %v", err)
	} else {
		began = p.Now()
		found = markerObjects{csv.Namespace, m.names()}.ask(ctx, servers, limit)
	}
	a := answer{Propagation: found, markers: m}
	a.gone, a.left = p.remove(ctx, m)
	if found.Unknown == "" && !a.gone {
		p.patience.learn(p.Now().Sub(began))
	}
	return a
}

// remove deletes markers, also one whose creation had no answer. With an error, one may exist: later reconciliations of the
// ClusterServiceVersion remove it as an undeclared registration.
func (p *Prober) remove(ctx context.Context, m markers) (gone bool, err error) {
	gone, err = m.remove(ctx, p)
	if err != nil {
		p.Markers.Forget(m.names())
		return gone, err
	}
	p.Markers.End(m.names(), p.Now())
	return gone, nil
}

// markerObjects are the objects that API servers refuse because of markers.
type markerObjects struct {
	namespace string
	markers   []string // names
}

// ask asks API servers at their own addresses, and else through one address, each time for a limited time.
func (o markerObjects) ask(ctx context.Context, servers Servers, limit time.Duration) certs.Propagation {
	ownAddresses, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	found := o.askEach(ownAddresses, servers)
	if found.Unknown == "" || len(found.Behind) > 0 {
		return found
	}
	oneAddress, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return o.askAny(oneAddress, servers, found)
}

// askEach asks all API servers at the same time, each at its own address.
func (o markerObjects) askEach(ctx context.Context, servers Servers) certs.Propagation {
	found := certs.Propagation{Method: managerv1alpha1.PropagationEachAPIServer, APIServers: servers.Number, Unknown: servers.Obstacle}
	if servers.Obstacle != "" {
		return found
	}
	var lock sync.Mutex
	var asked sync.WaitGroup
	for address, config := range servers.Each {
		asked.Go(func() {
			observed, err := o.awaitAt(ctx, config)
			lock.Lock()
			defer lock.Unlock()
			switch {
			case err != nil:
				found.NotReached = append(found.NotReached, address)
				found.Unknown = cmp.Or(found.Unknown, fmt.Sprintf("the API server at %s cannot be asked: %v", address, err))
			case !observed:
				found.Behind = append(found.Behind, address)
			}
		})
	}
	asked.Wait()
	slices.Sort(found.Behind)
	slices.Sort(found.NotReached)
	return found
}

// awaitAt waits until the API server at an address has observed all markers. err is why it cannot be asked.
func (o markerObjects) awaitAt(ctx context.Context, server *rest.Config) (observed bool, err error) {
	client, err := olmclient.New(server)
	if err != nil {
		return false, err
	}
	return o.await(ctx, client)
}

func (o markerObjects) await(ctx context.Context, client *olmclient.Client) (observed bool, err error) {
	last, answered := errors.New("no answer in time"), false
	ended := wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		observed, err := o.observed(ctx, client)
		answered = answered || err == nil
		if err != nil && ctx.Err() == nil {
			last = err
		}
		if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) { // Later requests get the same answer.
			return false, err
		}
		return observed, nil
	})
	switch {
	case ended == nil:
		return true, nil
	case answered:
		return false, nil
	default:
		return false, last
	}
}

// observed creates the object of each marker in a dry run, until one is not refused. An API server that is connected and does
// not answer in time has not observed it. err is why an API server cannot be asked.
func (o markerObjects) observed(ctx context.Context, client *olmclient.Client) (bool, error) {
	var connected atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }})
	for _, marker := range o.markers {
		_, refusal := client.WebhookRollouts(o.namespace).Create(ctx, render.CanaryObject(marker, render.CanarySeen),
			metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldManager: wellknown.FieldManager})
		switch {
		case refusal == nil, ctx.Err() != nil && connected.Load():
			return false, nil
		case !strings.Contains(refusal.Error(), render.CanaryCondition):
			return false, refusal
		}
	}
	return true, nil
}
