package render

import (
	"strconv"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/utils/ptr"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/webhookconfig"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/exemptions"
)

// It has every default of the API server, so any other field of the live object is from another client.
func webhook(in Input, d operatorsv1alpha1.WebhookDescription, port int32) Webhook {
	w := Webhook{Description: d, Port: port, Delegated: in.Trust[d.DeploymentName].Delegated, Interception: interceptionOf(in, d)}
	switch d.Type {
	case operatorsv1alpha1.ValidatingAdmissionWebhook:
		w.Registration = &admissionregistrationv1.ValidatingWebhookConfiguration{
			TypeMeta:   configurationType("ValidatingWebhookConfiguration"),
			ObjectMeta: configurationMeta(in, d),
			Webhooks:   []admissionregistrationv1.ValidatingWebhook{webhookconfig.Validating(admissionWebhook(in, d, port))},
		}
	case operatorsv1alpha1.MutatingAdmissionWebhook:
		w.Registration = &admissionregistrationv1.MutatingWebhookConfiguration{
			TypeMeta:   configurationType("MutatingWebhookConfiguration"),
			ObjectMeta: configurationMeta(in, d),
			Webhooks:   []admissionregistrationv1.MutatingWebhook{admissionWebhook(in, d, port)},
		}
	case operatorsv1alpha1.ConversionWebhook:
		w.Conversions = conversions(in, d, port)
	case csvspec.APIServiceType:
		w.Registration = apiService(in, d, port)
	}
	return w
}

// A validating webhook has the same fields, except for reinvocationPolicy.
func admissionWebhook(in Input, d operatorsv1alpha1.WebhookDescription, port int32) admissionregistrationv1.MutatingWebhook {
	return admissionregistrationv1.MutatingWebhook{
		Name:                    d.GenerateName,
		ClientConfig:            clientConfig(in, d, port),
		Rules:                   defaultedRules(d),
		FailurePolicy:           defaulted(d.FailurePolicy, admissionregistrationv1.Fail),
		MatchPolicy:             defaulted(d.MatchPolicy, admissionregistrationv1.Equivalent),
		NamespaceSelector:       in.Scope.WebhookSelector(),
		ObjectSelector:          defaulted(d.ObjectSelector, metav1.LabelSelector{}),
		SideEffects:             d.SideEffects,
		TimeoutSeconds:          defaulted(d.TimeoutSeconds, 10),
		AdmissionReviewVersions: d.AdmissionReviewVersions,
		MatchConditions:         matchConditions(in, d),
		ReinvocationPolicy:      defaulted(d.ReinvocationPolicy, admissionregistrationv1.NeverReinvocationPolicy),
	}
}

func configurationType(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: admissionregistrationv1.SchemeGroupVersion.String(), Kind: kind}
}

// Users of OLM find it by labels and generateName. The name is derived, so that a restarted manager finds it, too.
func configurationMeta(in Input, d operatorsv1alpha1.WebhookDescription) metav1.ObjectMeta {
	name, exists := in.Configurations[csvspec.IdentityOf(d)]
	if !exists {
		name = names.WebhookConfiguration(d.GenerateName, in.CSV.Namespace, in.CSV.Name, string(d.Type))
	}
	return metav1.ObjectMeta{
		Name:         name,
		GenerateName: d.GenerateName + "-",
		Labels: labels.Merge(csvspec.OwnerLabels(in.CSV), map[string]string{
			wellknown.LabelWebhookGenerateName: names.LabelValue(d.GenerateName),
			wellknown.LabelWebhookHash:         OLMHash(d),
		}),
		Annotations: annotations(in, d),
	}
}

// annotations have the certificate generation, unless another client injects the caBundle.
func annotations(in Input, d operatorsv1alpha1.WebhookDescription) map[string]string {
	trust := in.Trust[d.DeploymentName]
	if trust.Delegated {
		return in.Config.Propagated()
	}
	return labels.Merge(in.Config.Propagated(), map[string]string{wellknown.AnnotationGeneration: strconv.FormatInt(trust.Generation, 10)})
}

func clientConfig(in Input, d operatorsv1alpha1.WebhookDescription, port int32) admissionregistrationv1.WebhookClientConfig {
	return admissionregistrationv1.WebhookClientConfig{
		Service: &admissionregistrationv1.ServiceReference{
			Namespace: in.CSV.Namespace,
			Name:      in.Services[d.DeploymentName],
			Path:      d.WebhookPath,
			Port:      &port,
		},
		CABundle: caBundle(in.Trust[d.DeploymentName]),
	}
}

// caBundle returns no bundle if another client injects it.
func caBundle(trust Trust) []byte {
	if trust.Delegated {
		return nil
	}
	return trust.CABundle
}

func defaultedRules(d operatorsv1alpha1.WebhookDescription) []admissionregistrationv1.RuleWithOperations {
	return lists.Map(d.Rules, func(r admissionregistrationv1.RuleWithOperations) admissionregistrationv1.RuleWithOperations {
		rule := *r.DeepCopy()
		rule.Scope = defaulted(rule.Scope, admissionregistrationv1.AllScopes)
		return rule
	})
}

func defaulted[T any](value *T, otherwise T) *T {
	if value != nil {
		return value
	}
	return &otherwise
}

// matchConditions returns the conditions of the exemptions, followed by those of the author.
func matchConditions(in Input, d operatorsv1alpha1.WebhookDescription) []admissionregistrationv1.MatchCondition {
	conditions := lists.Map(in.exempted(d), exemptions.Exemption.MatchCondition)
	authored, err := csvspec.MatchConditions(in.CSV)
	if err != nil {
		return conditions // such a ClusterServiceVersion is not installed
	}
	return append(conditions, authored[d.GenerateName]...)
}

// Priorities that OLM v0 uses.
const (
	groupPriorityMinimum = 2000
	versionPriority      = 15
)

// Every kind of the version has the same group and version.
func apiService(in Input, d operatorsv1alpha1.WebhookDescription, port int32) *apiregistrationv1.APIService {
	owned := csvspec.OwnedKinds(in.CSV, d.GenerateName)[0]
	return &apiregistrationv1.APIService{
		TypeMeta:   metav1.TypeMeta{APIVersion: apiregistrationv1.SchemeGroupVersion.String(), Kind: "APIService"},
		ObjectMeta: metav1.ObjectMeta{Name: d.GenerateName, Labels: labels.Merge(csvspec.OwnerLabels(in.CSV), map[string]string{wellknown.LabelWebhookHash: OLMHash(d)}), Annotations: annotations(in, d)},
		Spec: apiregistrationv1.APIServiceSpec{
			Service:              &apiregistrationv1.ServiceReference{Namespace: in.CSV.Namespace, Name: in.Services[d.DeploymentName], Port: &port},
			Group:                owned.Group,
			Version:              owned.Version,
			CABundle:             caBundle(in.Trust[d.DeploymentName]),
			GroupPriorityMinimum: groupPriorityMinimum,
			VersionPriority:      versionPriority,
		},
	}
}

// Conversion is the desired spec.conversion of a CRD.
type Conversion struct {
	CRD  string
	Spec apiextensionsv1.CustomResourceConversion
	// Generation is the number of the newest trusted certificate generation.
	Generation int64
	// Delegated is set if the administrator provides the caBundle.
	Delegated bool
	// Annotations are the annotations of the Subscription's config.
	Annotations map[string]string
}

func conversions(in Input, d operatorsv1alpha1.WebhookDescription, port int32) []Conversion {
	path := ptr.Deref(d.WebhookPath, "/")
	trust := in.Trust[d.DeploymentName]
	return lists.Map(d.ConversionCRDs, func(crd string) Conversion {
		return Conversion{CRD: crd, Generation: trust.Generation, Delegated: trust.Delegated, Annotations: in.Config.Propagated(), Spec: apiextensionsv1.CustomResourceConversion{
			Strategy: apiextensionsv1.WebhookConverter,
			Webhook: &apiextensionsv1.WebhookConversion{
				ClientConfig: &apiextensionsv1.WebhookClientConfig{
					Service: &apiextensionsv1.ServiceReference{
						Namespace: in.CSV.Namespace, Name: in.Services[d.DeploymentName], Path: &path, Port: &port,
					},
					CABundle: trust.CABundle,
				},
				ConversionReviewVersions: d.AdmissionReviewVersions,
			},
		}}
	})
}
