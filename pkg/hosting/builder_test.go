package hosting_test

import (
	"bytes"
	"context"
	"io"
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/hostingtest"
)

func idle(ctx context.Context, _ hosting.Environment) error {
	<-ctx.Done()
	return nil
}

func admitAll(context.Context, hosting.Request[*corev1.Pod]) error { return nil }

func TestMistakesAreSaidWhenTheCommandRuns(t *testing.T) {
	good := hosting.Webhook{Kinds: pods, Handler: hosting.Validating(admitAll)}
	with := func(change func(*hosting.Webhook)) func(*hosting.Builder) {
		w := good
		change(&w)
		return func(b *hosting.Builder) { b.RegisterWebhook("pods", w) }
	}
	converts := func(h hosting.Handler) func(*hosting.Builder) {
		return with(func(w *hosting.Webhook) { w.Handler, w.Kinds = h, nil })
	}
	for name, test := range map[string]struct {
		build func(*hosting.Builder)
		want  string
	}{
		"nothing":                         {func(*hosting.Builder) {}, "neither a controller nor a webhook is registered"},
		"all taken back":                  {func(b *hosting.Builder) { b.RegisterController("a", idle); b.DeregisterController("a") }, "neither a controller nor a webhook is registered"},
		"a controller without a function": {func(b *hosting.Builder) { b.RegisterController("a", nil) }, `controller "a": it has no function`},
		"a controller twice": {
			func(b *hosting.Builder) { b.RegisterController("a", idle); b.RegisterController("a", idle) },
			`controller "a" is registered twice`,
		},
		"a webhook twice": {
			func(b *hosting.Builder) { b.RegisterWebhook("a", good); b.RegisterWebhook("a", good) },
			`webhook "a" is registered twice`,
		},
		"a webhook that is not there": {
			func(b *hosting.Builder) { b.RegisterWebhook("a", good); b.DeregisterWebhook("b") },
			`webhook "b" is not registered: registered are "a"`,
		},
		"a controller that is not there": {func(b *hosting.Builder) { b.DeregisterController("b") }, `controller "b" is not registered`},
		"a name for nothing":             {func(b *hosting.Builder) { b.RegisterWebhook("A B", good) }, `webhook "A B": a lowercase RFC 1123 label`},
		"one path twice": {
			func(b *hosting.Builder) {
				b.RegisterWebhook("a", good)
				w := good
				w.Path = "/a"
				b.RegisterWebhook("b", w)
			},
			`webhooks "a" and "b" both have the path /a`,
		},
		"no handler":               {with(func(w *hosting.Webhook) { w.Handler = nil }), "it has no Handler"},
		"no function":              {with(func(w *hosting.Webhook) { w.Handler = hosting.Validating[*corev1.Pod](nil) }), "its handler has no function"},
		"no kinds":                 {with(func(w *hosting.Webhook) { w.Kinds = nil }), "it has no Kinds"},
		"a relative path":          {with(func(w *hosting.Webhook) { w.Path = "a" }), `path "a"`},
		"a path of dots":           {with(func(w *hosting.Webhook) { w.Path = "/a/../b" }), `path "/a/../b"`},
		"a path of nothing":        {with(func(w *hosting.Webhook) { w.Path = "/" }), `path "/"`},
		"a path that is a pattern": {with(func(w *hosting.Webhook) { w.Path = "/{any}" }), `path "/{any}"`},
		"the probes' path":         {with(func(w *hosting.Webhook) { w.Path = "/readyz" }), "the server answers it itself"},
		"a kind of another type": {
			with(func(w *hosting.Webhook) {
				w.Kinds = append(slices.Clone(pods), appsv1.SchemeGroupVersion.WithKind("Deployment"))
			}),
			"its handler takes *v1.Pod, which is not the type of apps/v1, Kind=Deployment",
		},
		"a conversion with kinds": {with(func(w *hosting.Webhook) { w.Handler = windows() }), "a conversion has no Kinds"},
		"a conversion with operations": {
			with(func(w *hosting.Webhook) {
				w.Handler, w.Kinds, w.Operations = windows(), nil, []admissionv1.Operation{admissionv1.Create}
			}),
			"a conversion has no Kinds and no Operations",
		},
		"a conversion to nothing":           {converts(hosting.Conversion[*window](windowKind("v1"))), "there is nothing to convert"},
		"a conversion of one version twice": {converts(hosting.Conversion(windowKind("v1"), spokeOf(windowKind("v1")))), "version v1 appears twice"},
		"a conversion between kinds": {
			converts(hosting.Conversion(windowKind("v1"), spokeOf(corev1.SchemeGroupVersion.WithKind("Pod")))), "is another kind than the hub",
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := hosting.NewBuilder("test")
			test.build(b)
			hostingtest.Error(t, test.want, run(t.Context(), b))
		})
	}
}

func spokeOf(kind schema.GroupVersionKind) hosting.SpokeVersion[*window] {
	nothing := func(*window, *window) error { return nil }
	return hosting.Spoke(kind, nothing, nothing)
}

func TestABuilderNeedsAName(t *testing.T) {
	b := hosting.NewBuilder("Not A Name")
	b.RegisterController("a", idle)
	hostingtest.Error(t, `NewBuilder("Not A Name")`, run(t.Context(), b))
}

// Types that Kubernetes does not know, and types for any object, fit every kind.
func TestKindsOfForeignTypes(t *testing.T) {
	for _, handler := range []hosting.Handler{
		hosting.Validating(func(context.Context, hosting.Request[*window]) error { return nil }),
		hosting.Validating(func(context.Context, hosting.Request[*unstructured.Unstructured]) error { return nil }),
	} {
		handlerOf(t, hosting.Webhook{Kinds: []schema.GroupVersionKind{windowKind("v1")}, Handler: handler})
	}
}

func TestFlagsAreThoseThatMakeSense(t *testing.T) {
	controller := func(b *hosting.Builder) { b.RegisterController("sweeper", idle) }
	webhook := func(b *hosting.Builder) {
		b.RegisterWebhook("pods", hosting.Webhook{Kinds: pods, Handler: hosting.Validating(admitAll)})
	}
	for name, test := range map[string]struct {
		build      []func(*hosting.Builder)
		has, lacks []string
	}{
		"controllers": {
			[]func(*hosting.Builder){controller},
			[]string{"kubeconfig", "leader-elect", "v", "feature-gates", "own"},
			[]string{"controllers", "webhooks", "secure-port", "register-webhooks"},
		},
		"webhooks": {
			[]func(*hosting.Builder){webhook},
			[]string{"secure-port", "cert-dir", "tls-min-version", "tls-cipher-suites", "disable-http2-serving", "http2-max-streams-per-connection", "register-webhooks", "client-ca-file", "drain-period", "own"},
			[]string{"controllers", "webhooks", "leader-elect"},
		},
		"both": {
			[]func(*hosting.Builder){controller, webhook},
			[]string{"controllers", "webhooks", "leader-elect", "secure-port", "register-webhooks", "own"},
			nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := hosting.NewBuilder("test")
			b.Flags().String("own", "", "the author's own flag")
			for _, build := range test.build {
				build(b)
			}
			flags := b.Command().Flags()
			for _, flag := range test.has {
				hostingtest.Same(t, "there is --"+flag, true, flags.Lookup(flag) != nil)
			}
			for _, flag := range test.lacks {
				hostingtest.Same(t, "there is --"+flag, false, flags.Lookup(flag) != nil)
			}
		})
	}
}

func sweeperAndPods() *hosting.Builder {
	b := hosting.NewBuilder("test")
	b.RegisterController("sweeper", idle)
	b.RegisterWebhook("pods", hosting.Webhook{Kinds: pods, Handler: hosting.Validating(admitAll)})
	return b
}

func TestDefaults(t *testing.T) {
	flags := sweeperAndPods().Command().Flags()
	for name, want := range map[string]string{
		"controllers":           "[*]",
		"webhooks":              "[]",
		"secure-port":           "9443",
		"cert-dir":              "/tmp/k8s-webhook-server/serving-certs",
		"authenticate-callers":  "false",
		"authorize-callers":     "false",
		"register-webhooks":     "false",
		"disable-http2-serving": "false",
	} {
		hostingtest.Same(t, "--"+name, want, flags.Lookup(name).Value.String())
	}
}

func TestHelpSaysWhatThereIs(t *testing.T) {
	var out bytes.Buffer
	cmd := sweeperAndPods().Command()
	cmd.SetOut(&out)
	cmd.SetArgs([]string{"--help"})
	hostingtest.Must(t, cmd.Execute())
	for _, want := range []string{"Registration flags:", `of "sweeper"`, `of "pods"`, "CloudWebhookServer=true|false (BETA - default=true)"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the help lacks %q:\n%s", want, out.String())
		}
	}
}

func TestWhatTheFlagsLeave(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"an unknown webhook":      {[]string{"--webhooks=pds"}, `--webhooks: unknown name "pds": use "pods"`},
		"an unknown controller":   {[]string{"--controllers=-all"}, `--controllers: unknown name "-all": use "sweeper"`},
		"nothing":                 {[]string{"--controllers="}, "nothing runs"},
		"only what the gate bars": {[]string{"--controllers=", "--webhooks=*", "--feature-gates=CloudWebhookServer=false"}, "nothing runs"},
		"a drain of less":         {[]string{"--drain-period=-1s"}, "--drain-period=-1s"},
		"no way to the webhooks":  {[]string{"--register-webhooks"}, "one of --webhook-service and --webhook-url"},
		"no port":                 {[]string{"--secure-port=0"}, "--secure-port"},
		"an argument":             {[]string{"extra"}, "unknown command"},
		"no standard UID header":  {[]string{"--requestheader-uid-headers=X-Uid"}, "--requestheader-uid-headers lacks X-Remote-Uid"},
	} {
		t.Run(name, func(t *testing.T) {
			hostingtest.Error(t, test.want, run(t.Context(), sweeperAndPods(), test.args...))
		})
	}
}

func run(ctx context.Context, b *hosting.Builder, args ...string) error {
	cmd := b.Command()
	cmd.SetArgs(append([]string{"--health-bind-address="}, args...))
	cmd.SetOut(io.Discard)
	cmd.SetErr(io.Discard)
	return cmd.ExecuteContext(ctx)
}
