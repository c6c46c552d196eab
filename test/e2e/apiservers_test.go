package e2e

import (
	"context"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/calls"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// apiServers are those of the cluster from source, by number: the first has the index 0.
type apiServers struct {
	all  []apiServer
	tool string // the program that brought the cluster up
	next atomic.Int64
}

type apiServer struct {
	ip     string
	client kubernetes.Interface
}

// severalAPIServers skips the test unless the cluster has several, as hack/e2e-apiservers.sh brings up.
func severalAPIServers(t *testing.T) *apiServers {
	t.Helper()
	s := &apiServers{}
	slice, err := kubeClient.DiscoveryV1().EndpointSlices("default").Get(t.Context(), "kubernetes", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, endpoint := range slice.Endpoints {
		through := rest.CopyConfig(config)
		through.Host = "https://" + endpoint.Addresses[0] + ":" + strconv.Itoa(int(*slice.Ports[0].Port))
		client, err := kubernetes.NewForConfig(through)
		if err != nil {
			t.Fatal(err)
		}
		s.all = append(s.all, apiServer{ip: endpoint.Addresses[0], client: client})
	}
	if len(s.all) < 2 || !kube.ClusterAuditLog().Available() {
		t.Skip("the cluster is not one of test/cluster with several API servers: make e2e-apiservers brings one up")
	}
	slices.SortFunc(s.all, func(a, b apiServer) int { return strings.Compare(a.ip, b.ip) })
	s.tool = clusterTool(t)
	return s
}

// clusterTool builds the program that brings clusters of test/cluster up.
func clusterTool(t testing.TB) string {
	t.Helper()
	tool := filepath.Join(t.TempDir(), "cluster")
	runs(t, exec.CommandContext(t.Context(), "go", "build", "-C", "../cluster", "-o", tool, "./cmd/cluster"))
	return tool
}

// startLoad calls the webhook a hundred times a second, through each API server in turn.
func (s *apiServers) startLoad(e *env) *calls.Load {
	e.Helper()
	return calls.Start(e, between, func(ctx context.Context) calls.Call {
		server := s.all[int(s.next.Add(1))%len(s.all)]
		c := e.callThrough(ctx, server.client, true)
		c.Through = server.ip
		return c
	})
}

// order has the cluster do something with the API server of a number.
func (s *apiServers) order(t testing.TB, order string, number int) {
	t.Helper()
	runs(t, s.command(t, order, number))
}

func (s *apiServers) command(t testing.TB, order string, number int) *exec.Cmd {
	t.Helper()
	return exec.CommandContext(context.WithoutCancel(t.Context()), s.tool, "api-server", order, strconv.Itoa(number))
}

func runs(t testing.TB, command *exec.Cmd) {
	t.Helper()
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", command, err, output)
	}
}

// disturbance is what happens to one API server during a step of a test. It returns when it has begun.
type disturbance func(t *testing.T, s *apiServers) disturbed

// disturbed is a disturbance that has begun.
type disturbed struct {
	end     func()                // returns when it is over
	excuses func(calls.Call) bool // whether it explains that a call failed
}

func undisturbed(*testing.T, *apiServers) disturbed {
	return disturbed{end: func() {}, excuses: calls.Never}
}

// heldFor is how long an API server is held behind the others.
const heldFor = 10 * time.Second

// holdsOne holds the second API server behind for heldFor. That excuses no call: it answers all the time.
func holdsOne(t *testing.T, s *apiServers) disturbed {
	s.order(t, "hold", 2)
	released := make(chan error, 1)
	time.AfterFunc(heldFor, func() { released <- s.command(t, "release", 2).Run() })
	end := sync.OnceFunc(func() {
		if err := <-released; err != nil {
			t.Errorf("release API server 2: %v", err)
		}
	})
	t.Cleanup(end) // also when the test fails before
	return disturbed{excuses: calls.Never, end: end}
}

// restartsOne restarts the third API server. This one may refuse calls until it is ready, but may not fail to call the webhook.
func restartsOne(t *testing.T, s *apiServers) disturbed {
	began, over := time.Now(), make(chan time.Time, 1)
	go func() {
		if err := s.command(t, "restart", 3).Run(); err != nil {
			t.Errorf("restart API server 3: %v", err)
		}
		over <- time.Now()
	}()
	ready := began
	end := sync.OnceFunc(func() { ready = <-over })
	t.Cleanup(end) // also when the test fails before
	return disturbed{end: end, excuses: func(c calls.Call) bool {
		refused := c.Outcome == calls.Failed && !strings.Contains(c.Err.Error(), "webhook")
		return refused && c.Through == s.all[2].ip && c.Answered.After(began) && c.Sent.Before(ready)
	}}
}

// outcomes counts the calls of a load that has ended, by API server.
func (s *apiServers) outcomes(load *calls.Load) map[string]map[string]int {
	counts := map[string]map[string]int{}
	for _, server := range s.all {
		counts[server.ip] = map[string]int{}
		for _, outcome := range calls.Outcomes {
			n := installtest.Count(load.Calls(), func(c calls.Call) bool { return c.Through == server.ip && c.Outcome == outcome })
			if n > 0 {
				counts[server.ip][outcome.String()] = n
			}
		}
	}
	return counts
}
