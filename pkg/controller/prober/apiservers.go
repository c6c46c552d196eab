package prober

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apiservers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/decide"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmclient"
)

// observeTimeout is how long one reconciliation waits until an API server has observed a marker.
const observeTimeout = 2 * time.Second

// AskAPIServers reads the registrations, and asks each API server whether it has observed them: it refuses an object because
// of a marker that was written later.
func (p *Prober) AskAPIServers(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion, q decide.AskAPIServers) (asked decide.Propagation, err error) {
	if asked.Trust, err = p.Live.Trust(ctx, csv.Namespace, q.ReadTrust); err != nil {
		return asked, err
	}
	servers, err := p.APIServers(ctx)
	if err != nil {
		asked.Found.Unknown = err.Error()
		return asked, nil
	}
	markers, err := p.mark(ctx, csv, asked.Trust)
	defer markers.remove(ctx, p)
	if err != nil {
		asked.Found.Unknown = fmt.Sprintf("a marker of what API servers have observed cannot be written: %v", err)
		return asked, nil
	}
	asked.Found = p.observed(ctx, csv, servers, markers)
	return asked, nil
}

// EachAPIServer returns a configuration for each API server, by its address, or why API servers cannot be asked one by one.
func (p *Prober) EachAPIServer(ctx context.Context) (map[string]*rest.Config, error) {
	endpoints, err := p.Kube.DiscoveryV1().EndpointSlices(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{LabelSelector: apiservers.Selector()})
	if err != nil {
		return nil, fmt.Errorf("the addresses of API servers cannot be read: %w", err)
	}
	identities, err := p.Kube.CoordinationV1().Leases(apiservers.IdentityNamespace).List(ctx, metav1.ListOptions{LabelSelector: apiservers.IdentitySelector()})
	if err != nil {
		return nil, fmt.Errorf("the number of API servers cannot be read: %w", err)
	}
	servers := apiservers.Configs(p.Config, endpoints.Items)
	if why := apiservers.Incomplete(len(servers), identities.Items, p.Now()); why != "" {
		return nil, fmt.Errorf("API servers cannot be asked one by one: %s", why)
	}
	return servers, nil
}

// observed asks all API servers at the same time.
func (p *Prober) observed(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion, servers map[string]*rest.Config, markers markers) (found certs.Propagation) {
	ctx, cancel := context.WithTimeout(ctx, observeTimeout)
	defer cancel()
	var lock sync.Mutex
	var asked sync.WaitGroup
	for _, address := range slices.Sorted(maps.Keys(servers)) {
		asked.Go(func() {
			behind, err := observes(ctx, csv.Namespace, servers[address], markers.names())
			lock.Lock()
			defer lock.Unlock()
			switch {
			case err != nil:
				found.Unknown = fmt.Sprintf("the API server at %s cannot be asked: %v", address, err)
			case behind:
				found.Behind = append(found.Behind, address)
			}
		})
	}
	asked.Wait()
	slices.Sort(found.Behind)
	return found
}

// observes waits until an API server has observed all markers. err is why it cannot be asked.
func observes(ctx context.Context, namespace string, server *rest.Config, markers []string) (behind bool, err error) {
	client, err := olmclient.New(server)
	if err != nil {
		return false, err
	}
	for _, marker := range markers {
		var last error
		err := wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
			_, refusal := client.WebhookRollouts(namespace).Create(ctx, render.CanaryObject(marker, render.CanarySeen),
				metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldManager: wellknown.FieldManager})
			seen := refusal != nil && strings.Contains(refusal.Error(), render.CanaryCondition)
			if !seen && ctx.Err() == nil {
				last = refusal
			}
			return seen, nil
		})
		if err != nil {
			return last == nil, last
		}
	}
	return false, nil
}
