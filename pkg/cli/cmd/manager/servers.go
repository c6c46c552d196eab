package manager

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/sirupsen/logrus"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/httpserver"
)

type servingOptions struct {
	healthAddress  string
	metricsAddress string
	metricsSecure  bool
	certFile       string
	keyFile        string
}

func (o *servingOptions) add(f *pflag.FlagSet) {
	f.StringVar(&o.healthAddress, "health-bind-address", ":8081", "address of /healthz and /readyz over plain HTTP; none if empty")
	f.StringVar(&o.metricsAddress, "metrics-bind-address", ":8443", "address of /metrics; none if empty")
	f.BoolVar(&o.metricsSecure, "metrics-secure", true, "serve /metrics over TLS, to callers with a bearer token (TokenReview) who may get /metrics (SubjectAccessReview); false: over plain HTTP, to all callers")
	f.StringVar(&o.certFile, "metrics-tls-cert-file", "", "PEM file with the certificate of the metrics server, reloaded when it changes (default: a self-signed certificate)")
	f.StringVar(&o.keyFile, "metrics-tls-private-key-file", "", "PEM file with the private key of that certificate")
}

func (o servingOptions) check() error {
	if (o.certFile == "") != (o.keyFile == "") {
		return errors.New("--metrics-tls-cert-file and --metrics-tls-private-key-file: set both or none")
	}
	if o.certFile != "" && !o.metricsSecure {
		return errors.New("--metrics-tls-cert-file has no effect with --metrics-secure=false: remove one of the two flags")
	}
	return nil
}

func (o servingOptions) serveHealth(ready func() bool, lead *elector, log *logrus.Entry) (stop func(), err error) {
	if o.healthAddress == "" {
		return func() {}, nil
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, r *http.Request) {
		if err := lead.health.Check(r); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_, _ = w.Write([]byte("ok\n"))
	})
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !ready() {
			http.Error(w, "the caches are not filled yet", http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte("ok\n"))
	})
	server, err := httpserver.Start(o.healthAddress, mux, nil, log)
	if err != nil {
		return nil, fmt.Errorf("--health-bind-address=%s: %w", o.healthAddress, err)
	}
	return server.Close, nil
}

// scrapesAtOnce bounds the memory that responses take.
const scrapesAtOnce = 4

func (o servingOptions) serveMetrics(metrics prometheus.Gatherer, kube kubernetes.Interface, log *logrus.Entry) (stop func(), err error) {
	if o.metricsAddress == "" {
		return func() {}, nil
	}
	handler := promhttp.HandlerFor(metrics, promhttp.HandlerOpts{DisableCompression: true, ErrorHandling: promhttp.ContinueOnError, MaxRequestsInFlight: scrapesAtOnce})
	var config *tls.Config
	if o.metricsSecure {
		handler = httpserver.Authorized(kube, handler, log)
		if config, err = o.metricsTLS(log); err != nil {
			return nil, err
		}
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", handler)
	server, err := httpserver.Start(o.metricsAddress, mux, config, log)
	if err != nil {
		return nil, fmt.Errorf("--metrics-bind-address=%s: %w", o.metricsAddress, err)
	}
	return server.Close, nil
}

func (o servingOptions) metricsTLS(log *logrus.Entry) (*tls.Config, error) {
	if o.certFile != "" {
		return httpserver.FilesTLS(o.certFile, o.keyFile, log)
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("the certificate of the metrics server needs the name of this host: %w", err)
	}
	return httpserver.SelfSignedTLS(host)
}

// newRecorder writes events until stop is called, and then what it still holds.
func newRecorder(kube kubernetes.Interface) (recorder record.EventRecorder, stop func()) {
	kinds := runtime.NewScheme()
	builder := runtime.NewSchemeBuilder(scheme.AddToScheme, operatorsv1.AddToScheme, operatorsv1alpha1.AddToScheme)
	utilruntime.Must(builder.AddToScheme(kinds))
	broadcaster := record.NewBroadcaster(record.WithContext(context.Background()))
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: kube.CoreV1().Events("")})
	return broadcaster.NewRecorder(kinds, corev1.EventSource{Component: wellknown.FieldManager}), broadcaster.Shutdown
}
