package conformance

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	corelisters "k8s.io/client-go/listers/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/hostingtest"
)

func TestOneBinaryAsTwoProcesses(t *testing.T) {
	namespace, _ := newNamespace(t, "two")
	var working atomic.Int32
	build := func() *hosting.Builder {
		b := judgingIn(namespace)
		b.RegisterController("worker", func(ctx context.Context, env hosting.Environment) error {
			if _, err := env.Client.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{}); err != nil {
				return err
			}
			if !strings.HasSuffix(env.Config.UserAgent, "/worker") || env.Name != "worker" {
				t.Errorf("the environment is that of %s, %s", env.Name, env.Config.UserAgent)
			}
			working.Add(1)
			defer working.Add(-1)
			<-ctx.Done()
			return nil
		})
		return b
	}
	const alone = "--leader-elect=false"
	webhooks := start(t, build(), "--webhooks=*", "--controllers=")
	hostingtest.Same(t, "controllers in the webhooks' process", int32(0), working.Load())
	controllers := start(t, build(), alone)
	hostingtest.Eventually(t, "the controller runs", func() bool { return working.Load() == 1 })
	if code, _ := send(t, http.MethodGet, webhooks.url("/judge"), ""); code != http.StatusMethodNotAllowed {
		t.Errorf("the webhook's process answers HTTP %d", code)
	}
	if err := controllers.end(); err != nil || working.Load() != 0 {
		t.Errorf("the controllers' process ended with %v and %d controllers", err, working.Load())
	}
	both := start(t, build(), alone, "--webhooks=judge")
	hostingtest.Eventually(t, "the controller runs", func() bool { return working.Load() == 1 })
	if code, _ := send(t, http.MethodGet, both.url("/judge"), ""); code != http.StatusMethodNotAllowed {
		t.Errorf("the one process answers HTTP %d", code)
	}
}

func TestControllersHaveOneLeader(t *testing.T) {
	namespace, _ := newNamespace(t, "leader")
	var working, begun atomic.Int32
	build := func() *hosting.Builder {
		b := hosting.NewBuilder(namespace)
		b.RegisterController("worker", func(ctx context.Context, _ hosting.Environment) error {
			if working.Add(1) > 1 {
				t.Error("two controllers work at the same time")
			}
			begun.Add(1)
			<-ctx.Done()
			working.Add(-1)
			return nil
		})
		return b
	}
	launchController := func() *host {
		return launchPlain(t, build(), "--leader-elect-resource-namespace="+namespace, "--leader-elect-retry-period=100ms")
	}
	first := launchController()
	hostingtest.Eventually(t, "the first works", func() bool { return working.Load() == 1 })
	launchController()
	if err := first.end(); err != nil {
		t.Errorf("the leader ended with %v", err)
	}
	hostingtest.Eventually(t, "the second works", func() bool { return begun.Load() == 2 })
}

// Informers have synced before the first call, and run until the last one.
func TestPrepare(t *testing.T) {
	namespace, client := newNamespace(t, "prepare")
	create := func(name string) error {
		_, err := client.CoreV1().ConfigMaps(namespace).Create(t.Context(), doing(name), metav1.CreateOptions{})
		return err
	}
	hostingtest.Must(t, create("known"))
	var known corelisters.ConfigMapNamespaceLister
	proceed := make(chan struct{})
	w := obeying(func(func(context.Context, hosting.Request[*corev1.ConfigMap]) error) hosting.Handler {
		return hosting.Validating(func(context.Context, hosting.Request[*corev1.ConfigMap]) error {
			if _, err := known.Get("known"); err != nil {
				return err
			}
			return hosting.Deny("there is one that is known")
		})
	}, namespace)
	w.Prepare = func(ctx context.Context, env hosting.Environment) error {
		factory := informers.NewSharedInformerFactoryWithOptions(env.Client, 0, informers.WithNamespace(namespace))
		known = factory.Core().V1().ConfigMaps().Lister().ConfigMaps(namespace)
		factory.Start(ctx.Done())
		factory.WaitForCacheSync(ctx.Done())
		<-proceed
		return nil
	}
	b := hosting.NewBuilder(namespace)
	b.RegisterWebhook("lookup", w)
	h := launch(t, b, newAddress(), "--register-webhooks")
	hostingtest.Eventually(t, "the webhook is being prepared", func() bool {
		code, body := h.get(t, "/readyz")
		return code == http.StatusServiceUnavailable && strings.Contains(body, "[+]certificate ok") && strings.Contains(body, "[-]webhook-lookup failed")
	})
	if code, body := send(t, http.MethodPost, h.url("/lookup"), ""); code != http.StatusServiceUnavailable {
		t.Errorf("before it is prepared, it answers HTTP %d with %s", code, body)
	}
	close(proceed)
	h.waitUntilReady(t)
	hostingtest.Eventually(t, "the webhook is called", func() bool {
		err := create("another")
		return err != nil && strings.Contains(err.Error(), "there is one that is known")
	})
}

func TestFailuresEndTheProcess(t *testing.T) {
	controllers := hosting.NewBuilder("failing")
	controllers.RegisterController("worker", func(context.Context, hosting.Environment) error { return errors.New("no more work") })
	controllers.RegisterController("other", func(ctx context.Context, _ hosting.Environment) error { <-ctx.Done(); return nil })
	webhooks := hosting.NewBuilder("failing")
	w := obeying(hosting.Validating[*corev1.ConfigMap], "any")
	w.Prepare = func(context.Context, hosting.Environment) error { return errors.New("no cache") }
	webhooks.RegisterWebhook("lookup", w)
	for want, h := range map[string]*host{
		"controller worker: no more work":             launchPlain(t, controllers, "--leader-elect=false"),
		"webhook lookup cannot be prepared: no cache": launch(t, webhooks, newAddress()),
	} {
		<-h.ended
		if h.err == nil || h.err.Error() != want {
			t.Errorf("the process ended with %v, want %s", h.err, want)
		}
		h.err = nil
	}
}
