package hosting

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/util/retry"
	"k8s.io/klog/v2"
)

// registrar writes what makes API servers call the webhooks.
type registrar struct {
	process  string
	options  *registrationOptions
	caBundle []byte
	client   kubernetes.Interface
	dynamic  dynamic.Interface
	kinds    meta.RESTMapper
	pods     *livePods // nil if unknown
}

// register registers the webhooks once they are served. Where the API server is not there
// yet, as for a static pod that may start before it, or a kind is not, it tries again:
// the webhooks are served meanwhile.
//
// It returns when that is done, or when ctx ends because the process is to.
func (s *webhookServer) register(ctx context.Context) {
	err := wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(context.Context) (bool, error) {
		return s.ready() == nil, nil
	})
	if err != nil {
		return
	}
	backoff := wait.Backoff{Duration: time.Second, Factor: 1.5, Steps: 10, Cap: 30 * time.Second, Jitter: 0.1}
	_ = backoff.DelayFunc().Until(ctx, true, false, func(ctx context.Context) (bool, error) {
		err := s.registerOnce(ctx)
		if err != nil {
			klog.Errorf("Registering the webhooks, and trying again: %v", err)
		}
		return err == nil, nil
	})
}

func (s *webhookServer) ready() error {
	var problems []error
	for _, c := range s.checks() {
		problems = append(problems, c.err())
	}
	return errors.Join(problems...)
}

func (s *webhookServer) registerOnce(ctx context.Context) error {
	r, err := s.newRegistrar(ctx)
	if err != nil {
		return err
	}
	var mistakes []error
	for _, e := range s.endpoints {
		err := retry.OnError(retry.DefaultRetry, overtaken, func() error { return r.write(ctx, e) })
		if err != nil {
			mistakes = append(mistakes, fmt.Errorf("webhook %s: %w", e.name, err))
		} else {
			klog.Infof("Webhook %s is registered", e.name)
		}
	}
	return errors.Join(mistakes...)
}

// overtaken says whether another process wrote at the same time.
func overtaken(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err)
}

func (r *registrar) write(ctx context.Context, e *endpoint) error {
	switch e.webhook.Handler.form() {
	case conversion:
		return r.writeConversion(ctx, e)
	case mutating:
		return r.writeMutating(ctx, e)
	default:
		return r.writeValidating(ctx, e)
	}
}

// bundle is what API servers are to trust. Other CAs stay where replicas make certificates
// themselves: another replica may serve under one of them.
func (r *registrar) bundle(others []byte) []byte {
	if !r.options.selfSigned {
		return r.caBundle
	}
	return joinAuthorities(r.caBundle, others, r.pods, time.Now())
}

// newRegistrar reads again what may have changed since the last attempt: the CAs, and what
// kinds the API server has.
func (s *webhookServer) newRegistrar(ctx context.Context) (*registrar, error) {
	caBundle, err := s.options.registration.readCA(s.certificate)
	if err != nil {
		return nil, err
	}
	r, err := s.newTrustClient()
	if err != nil {
		return nil, err
	}
	r.caBundle = caBundle
	r.pods = livePodsIn(ctx, r.client, keyPair{ca: caBundle})
	resources, err := restmapper.GetAPIGroupResources(r.client.Discovery())
	if err != nil {
		return nil, fmt.Errorf("what kinds there are: %w", err)
	}
	r.kinds = restmapper.NewDiscoveryRESTMapper(resources)
	return r, nil
}

// newTrustClient returns a registrar that reads registrations and changes their caBundles. It
// asks for kinds only if one of the webhooks is a conversion.
func (s *webhookServer) newTrustClient() (*registrar, error) {
	env, err := s.clients.environment("registration")
	if err != nil {
		return nil, err
	}
	dynamicClient, err := dynamic.NewForConfig(env.Config)
	if err != nil {
		return nil, err
	}
	return &registrar{
		process: s.clients.process,
		options: &s.options.registration,
		client:  env.Client,
		dynamic: dynamicClient,
		kinds:   restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(env.Client.Discovery())),
	}, nil
}
