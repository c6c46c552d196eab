package apiserver

import (
	"context"
	"errors"

	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/generic"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/mutating"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/validating"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
)

// webhooks are kube-apiserver's admission plugins of one API server, with its informers on itself.
type webhooks struct {
	informers  informers.SharedInformerFactory
	mutating   *mutating.Plugin
	validating *validating.Plugin
}

func newWebhooks(s *Server) (*webhooks, error) {
	config := s.Config(user.APIServerUser)
	config.UserAgent = s.Name
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	w := &webhooks{informers: informers.NewSharedInformerFactory(client, 0)}
	mutatingPlugin, errMutating := mutating.NewMutatingWebhook(nil)
	validatingPlugin, errValidating := validating.NewValidatingAdmissionWebhook(nil)
	if err := errors.Join(errMutating, errValidating); err != nil {
		return nil, err
	}
	w.mutating, w.validating = mutatingPlugin, validatingPlugin
	for _, plugin := range []*generic.Webhook{w.mutating.Webhook, w.validating.Webhook} {
		dialed := webhookDialer{s}
		plugin.SetServiceResolver(dialed)
		plugin.SetAuthenticationInfoResolverWrapper(dialed.wrap)
		plugin.SetExternalKubeClientSet(client)
		plugin.SetExternalKubeInformerFactory(w.informers)
		plugin.SetAuthorizer(authority{})
		err = errors.Join(err, plugin.ValidateInitialization())
	}
	return w, err
}

// run returns after the context has ended.
func (w *webhooks) run(ctx context.Context) {
	w.informers.StartWithContext(ctx)
	<-ctx.Done()
	w.informers.Shutdown()
}

// synced reports whether the plugins know the registrations. Before, they refuse requests after ten seconds.
func (w *webhooks) synced() bool {
	v1 := w.informers.Admissionregistration().V1()
	return v1.MutatingWebhookConfigurations().Informer().HasSynced() && v1.ValidatingWebhookConfigurations().Informer().HasSynced() &&
		w.informers.Core().V1().Namespaces().Informer().HasSynced()
}

// Informers are those of the admission plugins of this API server: they show which registrations it uses.
func (s *Server) Informers() informers.SharedInformerFactory { return s.webhooks.informers }

// plugins are the admission plugins of the API server that answers a request.
type plugins struct{ namespaceCheck }

var (
	_ admission.MutationInterface   = plugins{}
	_ admission.ValidationInterface = plugins{}
)

// Handles implements admission.Interface.
func (plugins) Handles(admission.Operation) bool { return true }

// Admit implements admission.MutationInterface.
func (p plugins) Admit(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	if p.namespaceCheck.Handles(a.GetOperation()) {
		if err := p.namespaceCheck.Admit(ctx, a, o); err != nil {
			return err
		}
	}
	if w := serverFrom(ctx).webhooks; w.mutating.Handles(a.GetOperation()) {
		return w.mutating.Admit(ctx, a, o)
	}
	return nil
}

// Validate implements admission.ValidationInterface.
func (plugins) Validate(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	if w := serverFrom(ctx).webhooks; w.validating.Handles(a.GetOperation()) {
		return w.validating.Validate(ctx, a, o)
	}
	return nil
}
