package registration

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

type view struct {
	name    string
	configs []*admissionregistrationv1.WebhookClientConfig // of the live object
	update  func(ctx context.Context) error                // writes the changes of configs
}

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
	switch w.Form {
	case Conversion:
		return s.viewConversion(ctx, w)
	case Mutating:
		return viewConfiguration(ctx, s, s.mutating(w), w)
	default:
		return viewConfiguration(ctx, s, s.validating(), w)
	}
}

func viewConfiguration[C any](ctx context.Context, s *session, of configurations[C], w Webhook) (view, error) {
	name := s.configurationName(w)
	live, err := of.client.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return view{}, err
	}
	return view{
		name:    of.kind + " " + name,
		configs: s.ours(of.clientConfigs(live)...),
		update: func(ctx context.Context) error {
			_, err := of.client.Update(ctx, live, metav1.UpdateOptions{})
			return err
		},
	}, nil
}

func (s *session) ours(configs ...*admissionregistrationv1.WebhookClientConfig) []*admissionregistrationv1.WebhookClientConfig {
	ours := s.Options.client
	return slices.DeleteFunc(configs, func(c *admissionregistrationv1.WebhookClientConfig) bool {
		switch {
		case ours.Service != nil && c.Service != nil:
			return c.Service.Namespace != ours.Service.Namespace || c.Service.Name != ours.Service.Name
		case ours.URL != nil && c.URL != nil:
			return !strings.HasPrefix(*c.URL, *ours.URL+"/")
		default:
			return true
		}
	})
}

// checkService returns an error if a registration calls the Service of another installation. Its calls would
// come here without the consent of its owner. A process that is called by URL replaces every registration.
func (s *session) checkService(object, remedy string, configs ...*admissionregistrationv1.WebhookClientConfig) error {
	for _, c := range configs {
		if s.Options.client.Service != nil && c.Service != nil && len(s.ours(c)) == 0 {
			return fmt.Errorf("%s calls Service %s/%s and is not replaced: if no installation needs that Service, %s", object, c.Service.Namespace, c.Service.Name, remedy)
		}
	}
	return nil
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
		configs: s.ours(config),
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

// conversionConfig returns the client configuration of a conversion; empty if it has no webhook.
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
