package bundle

import (
	"fmt"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/groupkind"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/webhookconfig"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/requirements"
)

// supportedKinds are the kinds that OLM v0 supports in bundles, and PodMonitor, which belongs to ServiceMonitor.
var supportedKinds = map[string][]string{
	"":                          {"ConfigMap", "Secret", "Service", "ServiceAccount"},
	apiextensionsv1.GroupName:   {"CustomResourceDefinition"},
	"autoscaling.k8s.io":        {"VerticalPodAutoscaler"},
	"console.openshift.io":      {"ConsoleCLIDownload", "ConsoleLink", "ConsolePlugin", "ConsoleQuickStart", "ConsoleYAMLSample"},
	"image.openshift.io":        {"ImageStream"},
	"monitoring.coreos.com":     {"PodMonitor", "PrometheusRule", "ServiceMonitor"},
	"networking.k8s.io":         {"NetworkPolicy"},
	operatorsv1alpha1.GroupName: {operatorsv1alpha1.ClusterServiceVersionKind},
	"policy":                    {"PodDisruptionBudget"},
	rbacv1.GroupName:            {"ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"},
	"scheduling.k8s.io":         {"PriorityClass"},
}

// readGroups are the groups whose objects grant permissions or intercept requests. Checks and the notice read readVersion
// of them only.
var readGroups = []string{admissionregistrationv1.GroupName, apiregistrationv1.GroupName, rbacv1.GroupName}

const readVersion = "v1"

// SupportedKinds returns the kinds that every bundle may have.
func SupportedKinds() (all []schema.GroupKind) {
	for group, kinds := range supportedKinds {
		for _, kind := range kinds {
			all = append(all, schema.GroupKind{Group: group, Kind: kind})
		}
	}
	return all
}

// Refusal is an object of a bundle that is not applied, and the reason.
type Refusal struct {
	Object *Object
	Path   string
	What   string
	Remedy string
	// Kind is what --allow-kind has to name; empty if no flag allows the object.
	Kind schema.GroupKind
}

func (r Refusal) String() string {
	return fmt.Sprintf("%s: %s %s: %s; %s", r.Object.File, r.Object.GetKind(), r.Object.GetName(), r.What, r.Remedy)
}

// Refusals returns the objects that are not applied where these kinds are allowed.
func (b *Bundle) Refusals(allowed []schema.GroupKind) []Refusal {
	var all []Refusal
	for _, o := range b.Objects {
		if o == b.CSVObject {
			continue
		}
		if r, refused := refusedKind(o, allowed); refused {
			all = append(all, r)
		}
		all = append(all, forbiddenRules(o)...)
	}
	return all
}

const pathOfVersion = "apiVersion"

func refusedKind(o *Object, allowed []schema.GroupKind) (Refusal, bool) {
	kind := groupkind.Of(o)
	refuse := func(what, remedy string, flag schema.GroupKind) (Refusal, bool) {
		return Refusal{Object: o, Path: "kind", What: what, Remedy: remedy, Kind: flag}, true
	}
	switch {
	case kind == groupkind.Namespace:
		return refuse("an installation creates the operator's namespace itself", "suggest labels and annotations in the annotation "+NamespaceTemplateAnnotation, schema.GroupKind{})
	case kind.Group == operatorsv1alpha1.GroupName && kind != groupkind.ClusterServiceVersion, kind.Group == managerv1alpha1.GroupName:
		return refuse(fmt.Sprintf("objects of %s decide about other operators, and an installation creates its own", kind.Group), "remove it from the bundle", schema.GroupKind{})
	case slices.Contains(readGroups, kind.Group) && o.GroupVersionKind().Version != readVersion:
		return Refusal{
			Object: o, Path: pathOfVersion, What: fmt.Sprintf("what it grants or intercepts is known for version %s of %s only, and the object has %s", readVersion, kind.Group, o.GroupVersionKind().Version),
			Remedy: fmt.Sprintf("write it with apiVersion %s/%s", kind.Group, readVersion),
		}, true
	case slices.Contains(supportedKinds[kind.Group], kind.Kind), slices.Contains(allowed, kind):
		return Refusal{}, false
	default:
		return refuse(fmt.Sprintf("%s is no kind that OLM supports in bundles", kind), fmt.Sprintf("remove it from the bundle, or allow it: --allow-kind=%s", kind), kind)
	}
}

// forbiddenRules applies the guard of spec.webhookdefinitions to webhook configurations.
func forbiddenRules(o *Object) []Refusal {
	var all []Refusal
	for i, w := range webhookconfig.Webhooks(o.Typed) {
		for j, rule := range w.Rules {
			if message, remedy := requirements.Forbidden(rule); message != "" {
				all = append(all, Refusal{Object: o, Path: fmt.Sprintf("webhooks[%d].rules[%d]", i, j), What: fmt.Sprintf("%s: webhook %s does", message, w.Name), Remedy: remedy})
			}
		}
	}
	return all
}

// KindsToAllow returns the kinds for which the bundle needs --allow-kind.
func (b *Bundle) KindsToAllow() []schema.GroupKind {
	kinds := lists.Distinct(lists.Map(b.Refusals(nil), func(r Refusal) schema.GroupKind { return r.Kind }))
	return slices.DeleteFunc(kinds, schema.GroupKind.Empty)
}
