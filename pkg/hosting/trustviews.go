package hosting

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// registrationView is a live registration that has API servers call this process.
type registrationView struct {
	name    string
	configs []*admissionregistrationv1.WebhookClientConfig // of the live object
	update  func(ctx context.Context) error                // writes what has changed in configs
}

// views reads the registrations of the webhooks that exist.
func (r *registrar) views(ctx context.Context, endpoints []*endpoint) ([]registrationView, error) {
	var views []registrationView
	for _, e := range endpoints {
		view, err := r.view(ctx, e)
		switch {
		case apierrors.IsNotFound(err) || meta.IsNoMatchError(err):
			continue
		case err != nil:
			return nil, err
		}
		if len(view.configs) > 0 {
			views = append(views, view)
		}
	}
	return views, nil
}

func (r *registrar) view(ctx context.Context, e *endpoint) (registrationView, error) {
	name := r.configurationName(e)
	switch e.webhook.Handler.form() {
	case conversion:
		return r.viewConversion(ctx, e)
	case mutating:
		client := r.client.AdmissionregistrationV1().MutatingWebhookConfigurations()
		return viewOf(ctx, client, "MutatingWebhookConfiguration "+name, name, func(c *admissionregistrationv1.MutatingWebhookConfiguration) (configs []*admissionregistrationv1.WebhookClientConfig) {
			for i := range c.Webhooks {
				configs = r.ours(configs, &c.Webhooks[i].ClientConfig)
			}
			return configs
		})
	default:
		client := r.client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
		return viewOf(ctx, client, "ValidatingWebhookConfiguration "+name, name, func(c *admissionregistrationv1.ValidatingWebhookConfiguration) (configs []*admissionregistrationv1.WebhookClientConfig) {
			for i := range c.Webhooks {
				configs = r.ours(configs, &c.Webhooks[i].ClientConfig)
			}
			return configs
		})
	}
}

func viewOf[C any](
	ctx context.Context, client configurations[C], title, name string,
	configsOf func(*C) []*admissionregistrationv1.WebhookClientConfig,
) (registrationView, error) {
	live, err := client.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return registrationView{}, err
	}
	return registrationView{
		name:    title,
		configs: configsOf(live),
		update: func(ctx context.Context) error {
			_, err := client.Update(ctx, live, metav1.UpdateOptions{})
			return err
		},
	}, nil
}

// ours adds a config if it leads to this process.
func (r *registrar) ours(to []*admissionregistrationv1.WebhookClientConfig, config *admissionregistrationv1.WebhookClientConfig) []*admissionregistrationv1.WebhookClientConfig {
	ours := r.options.client
	switch {
	case ours.Service != nil && config.Service != nil:
		if config.Service.Namespace != ours.Service.Namespace || config.Service.Name != ours.Service.Name {
			return to
		}
	case ours.URL != nil && config.URL != nil:
		if !strings.HasPrefix(*config.URL, *ours.URL+"/") {
			return to
		}
	default:
		return to
	}
	return append(to, config)
}

func (r *registrar) viewConversion(ctx context.Context, e *endpoint) (registrationView, error) {
	kind := e.webhook.Handler.kinds(e.webhook)[0]
	mapping, err := r.kinds.RESTMapping(kind.GroupKind())
	if err != nil {
		return registrationView{}, err
	}
	name := mapping.Resource.GroupResource().String()
	crds := r.dynamic.Resource(crdResource)
	live, err := crds.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return registrationView{}, err
	}
	config := conversionConfig(live)
	return registrationView{
		name:    "CustomResourceDefinition " + name,
		configs: r.ours(nil, config),
		update: func(ctx context.Context) error {
			encoded := base64.StdEncoding.EncodeToString(config.CABundle)
			if err := unstructured.SetNestedField(live.Object, encoded, "spec", "conversion", "webhook", "clientConfig", "caBundle"); err != nil {
				return err
			}
			_, err := crds.Update(ctx, live, metav1.UpdateOptions{})
			return err
		},
	}, nil
}

// conversionConfig returns how a definition's conversion is called; nothing if it is not.
func conversionConfig(crd *unstructured.Unstructured) *admissionregistrationv1.WebhookClientConfig {
	const spec, conversion, webhook, client = "spec", "conversion", "webhook", "clientConfig"
	config := &admissionregistrationv1.WebhookClientConfig{CABundle: conversionBundle(crd)}
	if url, found, _ := unstructured.NestedString(crd.Object, spec, conversion, webhook, client, "url"); found {
		config.URL = &url
	}
	if name, found, _ := unstructured.NestedString(crd.Object, spec, conversion, webhook, client, "service", "name"); found {
		namespace, _, _ := unstructured.NestedString(crd.Object, spec, conversion, webhook, client, "service", "namespace")
		config.Service = &admissionregistrationv1.ServiceReference{Namespace: namespace, Name: name}
	}
	return config
}

// parsedCertificates returns the certificates of a bundle that can be read.
func parsedCertificates(bundle []byte) []*x509.Certificate {
	var certs []*x509.Certificate
	for _, block := range certificatesIn(bundle) {
		if cert, err := x509.ParseCertificate(block.Bytes); err == nil {
			certs = append(certs, cert)
		}
	}
	return certs
}
