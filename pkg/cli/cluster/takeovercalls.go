package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apiservers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/takeover"
)

// CallCounters reads the counters of webhook calls of API servers. It remembers which of them did not answer.
type CallCounters struct {
	*Cluster

	silent map[string]error // why an API server did not answer, by address
	asked  time.Time        // when the last of them was asked
}

const (
	// MeasureInterval is the time after which an API server that did not answer is asked again.
	MeasureInterval = 10 * time.Second
	// timeoutOfAddress limits the wait for an API server at its own address, which a firewall may not let through.
	timeoutOfAddress = 3 * time.Second
	// timeoutOfKubeconfig is longer: this address answers other requests.
	timeoutOfKubeconfig = 5 * time.Second
)

// Read returns the counters of each API server, and what could not be read. A restarted API server is another one. If
// API servers do not answer at their own addresses, the address of the kubeconfig is read.
func (c *CallCounters) Read(ctx context.Context, now time.Time) (servers map[string]takeover.Calls, notChecked []string, err error) {
	if now.Sub(c.asked) >= MeasureInterval {
		c.silent = map[string]error{}
		started := time.Now()
		defer func() { c.asked = now.Add(time.Since(started)) }()
	}
	configs, err := c.apiServerConfigs(ctx)
	if err != nil {
		return nil, nil, err
	}
	servers = c.ask(ctx, configs, timeoutOfAddress)
	if len(servers) == 0 {
		servers = c.ask(ctx, map[string]*rest.Config{c.Config.Host: c.Config}, timeoutOfKubeconfig)
		if len(servers) > 0 && len(configs) > 0 {
			notChecked = append(notChecked, fmt.Sprintf("failed calls of API servers that have not answered at %s, the address of the kubeconfig: behind a load balancer, each reading is that of one API server", c.Config.Host))
		}
	}
	for _, address := range slices.Sorted(maps.Keys(c.silent)) {
		notChecked = append(notChecked, fmt.Sprintf("the metrics of the API server at %s, which count failed calls: %v", address, c.silent[address]))
	}
	return servers, notChecked, ctx.Err()
}

// ask returns the counters of the API servers that answer. It asks all of them at the same time, and leaves out each one that
// did not answer.
func (c *CallCounters) ask(ctx context.Context, configs map[string]*rest.Config, timeout time.Duration) map[string]takeover.Calls {
	servers := map[string]takeover.Calls{}
	var lock sync.Mutex
	var asked sync.WaitGroup
	for address, config := range configs {
		if c.silent[address] != nil {
			continue
		}
		asked.Go(func() {
			calls, err := callsOf(ctx, config, timeout)
			lock.Lock()
			defer lock.Unlock()
			if err != nil {
				c.silent[address] = err
				return
			}
			servers[address+", started at "+calls.Started.Format(time.RFC3339Nano)] = calls
		})
	}
	asked.Wait()
	return servers
}

// apiServerConfigs returns a configuration for each API server that the Service kubernetes lists, by its address. It returns
// none for a single one, which is called at the address of the kubeconfig.
func (c *CallCounters) apiServerConfigs(ctx context.Context) (map[string]*rest.Config, error) {
	list, err := c.Kube.DiscoveryV1().EndpointSlices(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{LabelSelector: apiservers.Selector()})
	if apierrors.IsForbidden(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	all := apiservers.Configs(c.Config, list.Items)
	if len(all) < 2 {
		return nil, nil
	}
	return all, nil
}

// callsOf reads the counters of one API server.
func callsOf(ctx context.Context, config *rest.Config, timeout time.Duration) (takeover.Calls, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	config = rest.CopyConfig(config)
	date := "" // of the answer
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			response, err := next.RoundTrip(request)
			if err == nil {
				date = response.Header.Get("Date")
			}
			return response, err
		})
	})
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return takeover.Calls{}, err
	}
	text, err := client.CoreV1().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return takeover.Calls{}, fmt.Errorf("no answer in %s", timeout)
	}
	if err != nil {
		return takeover.Calls{}, err
	}
	calls, err := parseCalls(text)
	if at, unread := http.ParseTime(date); unread == nil && err == nil {
		calls.Read = at
	}
	return calls, err
}
