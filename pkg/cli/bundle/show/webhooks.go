package show

import (
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/utils/ptr"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
)

// Webhook is one row of the table of webhooks.
type Webhook struct {
	Type string `json:"type"` // Validating, Mutating, Conversion, APIService, Policy
	Name string `json:"name"`
	// Deployment serves it; empty for what the manager does not serve.
	Deployment string `json:"deployment,omitempty"`
	// Object registers the webhook, which calls Calls; both are empty for what the ClusterServiceVersion declares.
	Object     string   `json:"object,omitempty"`
	Calls      string   `json:"calls,omitempty"`
	Intercepts []string `json:"intercepts"` // "CREATE,UPDATE pods"
	Where      string   `json:"where"`
	OnFailure  string   `json:"onFailure"` // Fail, Ignore, or what a binding of a policy does
	// TimeoutSeconds is how long a request waits at most. 0 is not shown.
	TimeoutSeconds int32 `json:"timeoutSeconds,omitempty"`
}

func (c *contents) webhooks() []Webhook {
	var all []Webhook
	covered := coverageOf(c.group)
	for _, d := range c.csv.Spec.WebhookDefinitions {
		all = append(all, webhookOf(d, c.definitions, covered))
	}
	for _, d := range c.csv.Spec.APIServiceDefinitions.Owned {
		all = append(all, Webhook{
			Type: apiService, Name: csvspec.APIServiceName(d.Group, d.Version), Deployment: d.DeploymentName,
			Intercepts: []string{fmt.Sprintf("all requests for %s/%s", d.Group, d.Version)}, Where: everywhere, OnFailure: fail,
		})
	}
	for _, o := range c.intercepts {
		all = append(all, c.interceptionsOf(o)...)
	}
	for _, crd := range c.definitions {
		if !c.converts(crd.Name) {
			all = append(all, conversionOf(crd)...)
		}
	}
	return byDanger(all, dangerOfWebhook)
}

// converts reports whether the manager registers its own conversion in place of what the definition names.
func (c *contents) converts(definition string) bool {
	return slices.ContainsFunc(c.csv.Spec.WebhookDefinitions, func(d operatorsv1alpha1.WebhookDescription) bool {
		return d.Type == operatorsv1alpha1.ConversionWebhook && slices.Contains(d.ConversionCRDs, definition)
	})
}

func dangerOfWebhook(w Webhook) int {
	everything := slices.ContainsFunc(w.Intercepts, func(text string) bool { return strings.Contains(text, "*") })
	switch {
	case everything && w.Object != "":
		return 3
	case w.Object != "":
		return 2
	case everything:
		return 1
	default:
		return 0
	}
}

func webhookOf(d operatorsv1alpha1.WebhookDescription, crds []*apiextensionsv1.CustomResourceDefinition, covered coverage) Webhook {
	w := Webhook{Name: d.GenerateName, Deployment: d.DeploymentName, OnFailure: fail}
	w.Type = strings.TrimSuffix(strings.TrimSuffix(string(d.Type), "AdmissionWebhook"), "Webhook")
	if d.Type == operatorsv1alpha1.ConversionWebhook {
		w.Where = "wherever they are"
		for _, crd := range d.ConversionCRDs {
			w.Intercepts = append(w.Intercepts, "converts "+crd)
		}
		return w
	}
	w.TimeoutSeconds = ptr.Deref(d.TimeoutSeconds, 10)
	w.OnFailure = string(ptr.Deref(d.FailurePolicy, admissionregistrationv1.Fail))
	w.Where = whereOf(d.Rules, crds, covered, d.ObjectSelector)
	w.Intercepts = interceptsOf(d.Rules)
	return w
}
