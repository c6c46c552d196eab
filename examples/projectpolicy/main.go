// Command projectpolicy is the webhook server of the projectpolicy operator.
// It denies namespaces whose name or labels break a ProjectPolicy, and reports
// in the status of each ProjectPolicy whether it can be enforced.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/sirupsen/logrus"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
)

// webhookPath is the webhookPath of the bundle's webhook definition.
const webhookPath = "/validate-namespaces"

// options is what the command line and the environment decide.
type options struct {
	certDir     string
	listen      string
	probeListen string
	// ownNamespace is where this server runs; it is never judged.
	ownNamespace string
}

func main() {
	var o options
	flag.StringVar(&o.certDir, "cert-dir", "/tmp/k8s-webhook-server/serving-certs", "folder of the serving certificate: tls.crt and tls.key, read again when they change")
	flag.StringVar(&o.listen, "listen", ":9443", "address of the webhook, HTTPS")
	flag.StringVar(&o.probeListen, "probe-listen", ":8081", "address of /healthz and /readyz, HTTP")
	flag.Parse()
	o.ownNamespace = os.Getenv("POD_NAMESPACE")

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	// After the first signal the default is back: a second one ends the process at once.
	context.AfterFunc(ctx, stop)
	if err := run(ctx, o); err != nil {
		logrus.WithError(err).Fatal("projectpolicy ends")
	}
}

// run serves until ctx is done and all that was accepted is answered.
func run(ctx context.Context, o options) error {
	if o.ownNamespace == "" {
		return errors.New("the environment variable POD_NAMESPACE is not set: set it to the namespace of this server (fieldRef metadata.namespace), which must never be denied")
	}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		clientcmd.NewDefaultClientConfigLoadingRules(), nil).ClientConfig()
	if err != nil {
		return fmt.Errorf("finding the API server: %w", err)
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("building a client for %s: %w", config.Host, err)
	}

	policies, err := newPolicyStore(client)
	if err != nil {
		return err
	}
	certificate := newCertificate(o.certDir)
	mux := http.NewServeMux()
	mux.Handle(webhookPath, newReviewHandler(newJudge(o.ownNamespace, policies.Snapshot)))
	webhook := newServer(o.listen, mux, certificate)

	// The policies outlive ctx: while the server drains, it judges by them.
	background, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var tasks sync.WaitGroup
	defer tasks.Wait()
	defer cancel()
	tasks.Go(func() { policies.Run(background) })

	probes, err := listenForProbes(o.probeListen, policies.Synced, certificate.Loaded, webhook.Serving)
	if err != nil {
		return err
	}
	defer func() { _ = probes.Close() }()

	return webhook.Run(ctx)
}
