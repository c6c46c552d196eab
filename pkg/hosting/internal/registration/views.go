package registration

import (
	"context"
	"encoding/base64"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// view is a live registration by which API servers call this process.
type view struct {
	name    string
	configs []*admissionregistrationv1.WebhookClientConfig // of the live object
	update  func(ctx context.Context) error                // writes the changes of configs
}

// views reads the registrations that exist.
func (s *session) views(ctx context.Context) ([]view, error) {
	var views []view
	for _, w := range s.Webhooks {
		view, err := s.view(ctx, w)
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

func (s *session) view(ctx context.Context, w Webhook) (view, error) {
	name := s.configurationName(w)
	switch w.Form {
	case Conversion:
		return s.viewConversion(ctx, w)
	case Mutating:
		client := s.client.AdmissionregistrationV1().MutatingWebhookConfigurations()
		return viewOf(ctx, client, "MutatingWebhookConfiguration "+name, name, func(c *admissionregistrationv1.MutatingWebhookConfiguration) (configs []*admissionregistrationv1.WebhookClientConfig) {
			for i := range c.Webhooks {
				configs = s.ours(configs, &c.Webhooks[i].ClientConfig)
			}
			return configs
		})
	default:
		client := s.client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
		return viewOf(ctx, client, "ValidatingWebhookConfiguration "+name, name, func(c *admissionregistrationv1.ValidatingWebhookConfiguration) (configs []*admissionregistrationv1.WebhookClientConfig) {
			for i := range c.Webhooks {
				configs = s.ours(configs, &c.Webhooks[i].ClientConfig)
			}
			return configs
		})
	}
}

func viewOf[C any](
	ctx context.Context, client configurations[C], title, name string,
	configsOf func(*C) []*admissionregistrationv1.WebhookClientConfig,
) (view, error) {
	live, err := client.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return view{}, err
	}
	return view{
		name:    title,
		configs: configsOf(live),
		update: func(ctx context.Context) error {
			_, err := client.Update(ctx, live, metav1.UpdateOptions{})
			return err
		},
	}, nil
}

// ours appends a config if it refers to this process.
func (s *session) ours(to []*admissionregistrationv1.WebhookClientConfig, config *admissionregistrationv1.WebhookClientConfig) []*admissionregistrationv1.WebhookClientConfig {
	ours := s.Options.client
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

func (s *session) viewConversion(ctx context.Context, w Webhook) (view, error) {
	mapping, err := s.kinds.RESTMapping(w.Kinds[0].GroupKind())
	if err != nil {
		return view{}, err
	}
	name := mapping.Resource.GroupResource().String()
	crds := s.dynamic.Resource(crdResource)
	live, err := crds.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return view{}, err
	}
	config := conversionConfig(live)
	return view{
		name:    "CustomResourceDefinition " + name,
		configs: s.ours(nil, config),
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

// conversionConfig returns the client configuration of a definition's conversion. It is empty if the
// definition has no webhook.
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
