package show

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/groupkind"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
)

// dangerous returns what the name of an object does not show and an administrator has to know, for each
// kind that bundles may have and that no other list of a Summary shows. Kinds with nil have no such field.
var dangerous = map[schema.GroupKind]func(*unstructured.Unstructured) []string{
	{Kind: "ConfigMap"}:      nil,
	{Kind: "Secret"}:         typeOf,
	{Kind: "Service"}:        trafficOf,
	{Kind: "ServiceAccount"}: identityOf,
	{Group: "autoscaling.k8s.io", Kind: "VerticalPodAutoscaler"}: scaledBy,
	{Group: "console.openshift.io", Kind: "ConsoleCLIDownload"}:  nil,
	{Group: "console.openshift.io", Kind: "ConsoleLink"}:         linksOf,
	{Group: "console.openshift.io", Kind: "ConsolePlugin"}:       proxiesOf,
	{Group: "console.openshift.io", Kind: "ConsoleQuickStart"}:   nil,
	{Group: "console.openshift.io", Kind: "ConsoleYAMLSample"}:   nil,
	{Group: "image.openshift.io", Kind: "ImageStream"}:           nil,
	{Group: "monitoring.coreos.com", Kind: "PodMonitor"}:         scrapesOf,
	{Group: "monitoring.coreos.com", Kind: "PrometheusRule"}:     nil,
	{Group: "monitoring.coreos.com", Kind: "ServiceMonitor"}:     scrapesOf,
	{Group: "networking.k8s.io", Kind: "NetworkPolicy"}:          isolationOf,
	{Group: policyv1.GroupName, Kind: "PodDisruptionBudget"}:     disruptionOf,
	{Group: rbacv1.GroupName, Kind: "ClusterRoleBinding"}:        emptyBindingOf,
	{Group: rbacv1.GroupName, Kind: "RoleBinding"}:               emptyBindingOf,
	{Group: "scheduling.k8s.io", Kind: "PriorityClass"}:          priorityOf,
}

// Details returns the fields of an object that an administrator has to know, in addition to its name.
func Details(o *unstructured.Unstructured) []string {
	details := dangerous[groupkind.Of(o)]
	if details == nil {
		return nil
	}
	return details(o)
}

// typeOf returns the type of a Secret: Kubernetes and others give rights by it.
func typeOf(o *unstructured.Unstructured) []string {
	switch kind := text(o.Object, "type"); kind {
	case "", string(corev1.SecretTypeOpaque):
		return nil
	case string(corev1.SecretTypeServiceAccountToken):
		return []string{fmt.Sprintf("a token of ServiceAccount %s/%s", o.GetNamespace(), o.GetAnnotations()[corev1.ServiceAccountNameKey])}
	default:
		return []string{"type " + kind}
	}
}

// trafficOf returns which traffic a Service takes: an external IP takes that of an address that others may use.
func trafficOf(o *unstructured.Unstructured) []string {
	var all []string
	if kind := text(o.Object, "spec", "type"); kind != "" && kind != string(corev1.ServiceTypeClusterIP) {
		all = append(all, "type "+kind)
	}
	if name := text(o.Object, "spec", "externalName"); name != "" {
		all = append(all, "externalName "+name)
	}
	return append(all, listed("externalIPs", texts(o.Object, "spec", "externalIPs"))...)
}

// identityOf returns the annotations by which clouds give an account permissions outside the cluster.
func identityOf(o *unstructured.Unstructured) []string {
	annotations := o.GetAnnotations() // a copy
	return lists.Map(slices.Sorted(maps.Keys(annotations)), func(name string) string { return fmt.Sprintf("annotation %s=%s", name, annotations[name]) })
}

// proxiesOf returns the servers to which the console sends the tokens of its users.
func proxiesOf(o *unstructured.Unstructured) []string {
	var all []string
	for _, proxy := range append(objectsIn(o.Object, "spec", "proxy"), objectsIn(o.Object, "spec", "proxy", "services")...) {
		if authorize, _, _ := unstructured.NestedBool(proxy, "authorize"); authorize || text(proxy, "authorization") == "UserToken" {
			all = append(all, "gets the tokens of the console's users")
		}
	}
	return lists.Distinct(all)
}

// scrapesOf returns what a monitor reads: of which namespaces, and with whose credentials.
func scrapesOf(o *unstructured.Unstructured) []string {
	var all []string
	if everywhere, _, _ := unstructured.NestedBool(o.Object, "spec", "namespaceSelector", "any"); everywhere {
		all = append(all, "in all namespaces")
	}
	all = append(all, listed("in namespaces", texts(o.Object, "spec", "namespaceSelector", "matchNames"))...)
	for _, endpoint := range append(objectsIn(o.Object, "spec", "endpoints"), objectsIn(o.Object, "spec", "podMetricsEndpoints")...) {
		if file := text(endpoint, "bearerTokenFile"); file != "" {
			all = append(all, "sends Prometheus's file "+file)
		}
		if url := text(endpoint, "proxyUrl"); url != "" {
			all = append(all, "through "+url)
		}
		all = append(all, listed("sends contents of", keysIn(endpoint, 4))...)
	}
	return lists.Distinct(all)
}

// keysIn returns the Secrets and ConfigMaps whose keys an object names: {name: a, key: b}.
func keysIn(object map[string]any, depth int) []string {
	var all []string
	if name, key := text(object, "name"), text(object, "key"); name != "" && key != "" {
		all = append(all, name)
	}
	if depth == 0 {
		return all
	}
	for _, field := range slices.Sorted(maps.Keys(object)) {
		if inside, ok := object[field].(map[string]any); ok {
			all = append(all, keysIn(inside, depth-1)...)
		}
	}
	return all
}

func scaledBy(o *unstructured.Unstructured) []string {
	return []string{fmt.Sprintf("restarts pods of %s %s", text(o.Object, "spec", "targetRef", "kind"), text(o.Object, "spec", "targetRef", "name"))}
}

func linksOf(o *unstructured.Unstructured) []string {
	return []string{"to " + text(o.Object, "spec", "href")}
}

func isolationOf(o *unstructured.Unstructured) []string {
	var policy networkingv1.NetworkPolicy
	if runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &policy) != nil {
		return nil // the API server refuses it
	}
	if s := policy.Spec.PodSelector; len(s.MatchLabels)+len(s.MatchExpressions) > 0 {
		return []string{"for pods with " + selectorText(&s)}
	}
	return []string{"for all pods of the namespace"}
}

// disruptionOf returns whether no pod may be evicted. minAvailable depends on the number of pods.
func disruptionOf(o *unstructured.Unstructured) []string {
	var all []string
	for _, field := range []string{"maxUnavailable", "minAvailable"} {
		value, found, _ := unstructured.NestedFieldNoCopy(o.Object, "spec", field)
		if found && (field == "minAvailable" || slices.Contains([]string{"0", "0%"}, fmt.Sprint(value))) {
			all = append(all, fmt.Sprintf("%s %v", field, value))
		}
	}
	return all
}

func priorityOf(o *unstructured.Unstructured) []string {
	value, _, _ := unstructured.NestedFieldNoCopy(o.Object, "value")
	details := []string{fmt.Sprintf("value %v", value)}
	if forAll, _, _ := unstructured.NestedBool(o.Object, "globalDefault"); forAll {
		details = append(details, "globalDefault")
	}
	if policy := text(o.Object, "preemptionPolicy"); policy != "" {
		details = append(details, "preemptionPolicy "+policy)
	}
	return details
}

// emptyBindingOf returns the role of a binding without subjects. Others are among the permissions.
func emptyBindingOf(o *unstructured.Unstructured) []string {
	return []string{fmt.Sprintf("of %s %s, without subjects", text(o.Object, "roleRef", "kind"), text(o.Object, "roleRef", "name"))}
}

func text(object map[string]any, path ...string) string {
	value, _, _ := unstructured.NestedString(object, path...)
	return value
}

func texts(object map[string]any, path ...string) []string {
	values, _, _ := unstructured.NestedStringSlice(object, path...)
	return values
}

func listed(what string, values []string) []string {
	if len(values) == 0 {
		return nil
	}
	return []string{what + " " + strings.Join(values, " ")}
}

func objectsIn(object map[string]any, path ...string) (all []map[string]any) {
	values, _, _ := unstructured.NestedSlice(object, path...)
	for _, value := range values {
		if o, ok := value.(map[string]any); ok {
			all = append(all, o)
		}
	}
	return all
}
