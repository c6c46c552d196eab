// Package registration registers webhooks, and keeps the registrations' trust in the serving certificate.
package registration

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/util/retry"
	"k8s.io/klog/v2"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/certificates"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/pod"
)

// Form is the kind of a webhook, by the kind of its registration.
type Form int

// The forms.
const (
	Validating Form = iota
	Mutating
	Conversion
)

// Webhook has the fields of a webhook for its registration.
type Webhook struct {
	Name       string
	Path       string
	Form       Form
	Kinds      []schema.GroupVersionKind // of a conversion, the hub's first
	Operations []admissionv1.Operation
	// Settings has the other fields of an admission webhook, and its rules unless they follow from Kinds and Operations.
	Settings admissionregistrationv1.MutatingWebhook
}

// Registrar registers the webhooks of a process.
type Registrar struct {
	Process     string
	Options     *Options
	Certificate *certificates.Files
	Webhooks    []Webhook
	Config      func() (*rest.Config, error)

	writing sync.Mutex // held while registrations are read and written
}

// Run registers the webhooks when ready returns nil, until all are registered or ctx ends. The API server may start after
// this process, as for a static pod, or not have a kind yet.
func (r *Registrar) Run(ctx context.Context, ready func() error) {
	err := wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(context.Context) (bool, error) {
		return ready() == nil, nil
	})
	if err != nil {
		return
	}
	backoff := wait.Backoff{Duration: time.Second, Factor: 1.5, Steps: 10, Cap: 30 * time.Second, Jitter: 0.1}
	_ = backoff.DelayFunc().Until(ctx, true, false, func(ctx context.Context) (bool, error) {
		err := r.registerAll(ctx)
		if err != nil {
			klog.ErrorS(err, "Cannot register the webhooks, retrying")
		}
		return err == nil, nil
	})
}

func (r *Registrar) registerAll(ctx context.Context) error {
	r.writing.Lock()
	defer r.writing.Unlock()
	s, err := r.newSession()
	if err != nil {
		return err
	}
	stale := func(err error) bool { return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) }
	var errs []error
	for _, w := range r.Webhooks {
		err := retry.OnError(retry.DefaultRetry, stale, func() error { return s.write(ctx, w) })
		if err != nil {
			errs = append(errs, fmt.Errorf("webhook %s: %w", w.Name, err))
		} else {
			klog.InfoS("Registered the webhook", "webhook", w.Name)
		}
	}
	return errors.Join(errs...)
}

type session struct {
	*Registrar
	client   kubernetes.Interface
	dynamic  dynamic.Interface
	kinds    meta.RESTMapper
	caBundle []byte
}

// newSession reads what may have changed since the last attempt: the CAs, and the kinds of the API server.
func (r *Registrar) newSession() (*session, error) {
	files := r.Options.files(r.Certificate)
	caBundle, err := os.ReadFile(files.CA)
	if err != nil {
		return nil, fmt.Errorf("--webhook-ca-file: %w", err)
	}
	if err := certificates.Verify(caBundle, r.Certificate.Current().Cert, r.Options.hosts[0], time.Now()); err != nil {
		return nil, fmt.Errorf("%s does not verify the certificate that is served: %w", files.CA, err)
	}
	s, err := r.newTrustSession()
	if err != nil {
		return nil, err
	}
	s.caBundle = caBundle
	resources, err := restmapper.GetAPIGroupResources(s.client.Discovery())
	if err != nil {
		return nil, fmt.Errorf("read the kinds of the API server: %w", err)
	}
	s.kinds = restmapper.NewDiscoveryRESTMapper(resources)
	return s, nil
}

// newTrustSession reads the kinds of the API server only if a webhook is a conversion.
func (r *Registrar) newTrustSession() (*session, error) {
	config, err := r.Config()
	if err != nil {
		return nil, err
	}
	client, clientErr := kubernetes.NewForConfig(config)
	dynamicClient, dynamicErr := dynamic.NewForConfig(config)
	if err := cmp.Or(clientErr, dynamicErr); err != nil {
		return nil, err
	}
	return &session{
		Registrar: r,
		client:    client,
		dynamic:   dynamicClient,
		kinds:     restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client.Discovery())),
	}, nil
}

// bundle keeps the CAs that the registration trusts: other replicas may serve certificates of them, also from files,
// which kubelets replace at different times. The pods are listed after the registration was read: an earlier list lacks
// the pod of a replica that has added its CA since.
func (s *session) bundle(ctx context.Context, others []byte) []byte {
	own := certificates.Parse(s.caBundle)
	if len(own) == 0 {
		return s.caBundle // API servers use their own roots
	}
	return certificates.JoinBundles(s.caBundle, others, pod.ReadList(ctx, s.client, own), time.Now())
}
