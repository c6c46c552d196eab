package lint

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// files are the objects of a bundle, by file, for a test to break.
type files map[string]map[string]any

func (f files) of(kind string) map[string]any {
	for _, object := range f {
		if object["kind"] == kind {
			return object
		}
	}
	return nil
}

func (f files) remove(kind string) {
	for name, object := range f {
		if object["kind"] == kind {
			delete(f, name)
		}
	}
}

// at is what a path of fields and indices leads to in the ClusterServiceVersion.
func (f files) at(path ...any) any {
	var value any = f.of("ClusterServiceVersion")
	for _, step := range path {
		switch step := step.(type) {
		case string:
			value = value.(map[string]any)[step]
		case int:
			value = value.([]any)[step]
		}
	}
	return value
}

func (f files) spec() map[string]any { return f.at("spec").(map[string]any) }

func (f files) csvAnnotations() map[string]any {
	return f.at("metadata", "annotations").(map[string]any)
}

func (f files) definition() map[string]any {
	return f.of("CustomResourceDefinition")["spec"].(map[string]any)
}

func (f files) webhook() map[string]any {
	return f.at("spec", "webhookdefinitions", 0).(map[string]any)
}

func (f files) rule() map[string]any { return f.webhook()["rules"].([]any)[0].(map[string]any) }

// webhookType is empty where there is no webhook.
func (f files) webhookType() string {
	if f.at("spec", "webhookdefinitions") == nil {
		return ""
	}
	return f.webhook()["type"].(string)
}

// deployment is that of the first webhook; without webhooks the first.
func (f files) deployment() map[string]any {
	if f.webhookType() == "" {
		return f.at("spec", "install", "spec", "deployments", 0).(map[string]any)
	}
	for _, d := range f.at("spec", "install", "spec", "deployments").([]any) {
		if d.(map[string]any)["name"] == f.webhook()["deploymentName"] {
			return d.(map[string]any)
		}
	}
	panic("the example's webhook has no Deployment")
}

func (f files) deploymentSpec() map[string]any { return f.deployment()["spec"].(map[string]any) }

func (f files) pod() map[string]any {
	pod, _, _ := unstructured.NestedFieldNoCopy(f.deployment(), "spec", "template", "spec")
	return pod.(map[string]any)
}

func (f files) container() map[string]any { return f.pod()["containers"].([]any)[0].(map[string]any) }

// failing makes the first webhook fail closed for all objects of a resource.
func failing(group, resource string) func(files) {
	return func(f files) {
		f.webhook()["failurePolicy"] = "Fail"
		f.rule()["apiGroups"], f.rule()["resources"], f.rule()["scope"] = list(group), list(resource), "*"
		delete(f.webhook(), "objectSelector")
	}
}

func (f files) another(change func(map[string]any)) {
	copied := (&unstructured.Unstructured{Object: f.webhook()}).DeepCopy().Object
	change(copied)
	spec := f.spec()
	spec["webhookdefinitions"] = append(spec["webhookdefinitions"].([]any), copied)
}

// condition gives the first webhook a matchCondition.
func (f files) condition(name, expression string) {
	text, _ := json.Marshal(map[string]any{f.webhook()["generateName"].(string): list(map[string]any{"name": name, "expression": expression})})
	f.csvAnnotations()["olm-webhook-manager.io/match-conditions"] = string(text)
}

func (f files) modes(supported ...string) {
	f.spec()["installModes"] = lists.Map(list("OwnNamespace", "SingleNamespace", "MultiNamespace", "AllNamespaces"), func(mode any) any {
		return map[string]any{"type": mode, "supported": slices.Contains(supported, mode.(string))}
	})
}

func (f files) annotations() map[string]any {
	return f["metadata/annotations.yaml"]["annotations"].(map[string]any)
}

func rename(annotations map[string]any, from, to string) {
	annotations[bundlePrefix+to] = annotations[bundlePrefix+from]
	delete(annotations, bundlePrefix+from)
}

func (f files) own(apis ...any) { f.spec()["apiservicedefinitions"] = map[string]any{"owned": apis} }

func list(values ...any) []any { return values }

func apiService(group string, deployment any) map[string]any {
	return map[string]any{"name": "shops", "group": group, "version": "v7", "kind": "Shop", "displayName": "Shop", "deploymentName": deployment}
}

type breakage struct {
	name string
	// on is in the type of the webhook that can be broken so; empty where none is needed.
	on   string
	do   func(files)
	want string // codes
}

// closed makes the first webhook fail closed, and then changes the bundle.
func closed(change func(files)) func(files) {
	return func(f files) {
		f.webhook()["failurePolicy"] = "Fail"
		change(f)
	}
}

func suggest(template string) func(files) {
	return func(f files) {
		f.csvAnnotations()["operatorframework.io/suggested-namespace-template"] = template
	}
}

// grant adds a ClusterRole with one verb.
func grant(resource, verb string) func(files) {
	return func(f files) {
		f["manifests/x.yaml"] = map[string]any{
			"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": map[string]any{"name": "x"},
			"rules": list(map[string]any{"apiGroups": list("*"), "resources": list(resource), "verbs": list(verb)}),
		}
	}
}

// bindingOf binds the role view to a ServiceAccount.
func bindingOf(account, namespace string) map[string]any {
	return map[string]any{
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": map[string]any{"name": "x"},
		"roleRef":  map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
		"subjects": list(map[string]any{"kind": "ServiceAccount", "name": account, "namespace": namespace}),
	}
}

const (
	bundlePrefix = "operators.operatorframework.io.bundle."
	packageName  = bundlePrefix + "package.v1"
)

const calling, admitting, converting = "Webhook", "Admission", "Conversion"

// breakages are what goes wrong with bundles. Each is done to every example that it can
// be done to, and has to be found in each.
var breakages = []breakage{
	{"a bundle for Helm", "", func(f files) { f.annotations()[bundlePrefix+"mediatype.v1"] = "helm+v3" }, "media-type"},
	{"a default channel that there is not", "", func(f files) { f.annotations()[bundlePrefix+"channel.default.v1"] = "nightly" }, "default-channel"},
	{"a version that replaces itself", "", func(f files) { f.spec()["replaces"] = f.at("metadata", "name") }, "replaces-itself"},
	{"a version that skips itself", "", func(f files) { f.spec()["skips"] = list(f.at("metadata", "name")) }, "replaces-itself"},
	{"an image of any version", "", func(f files) {
		f.at("spec", "install", "spec", "deployments", 0, "spec", "template", "spec", "containers", 0).(map[string]any)["image"] = "registry.example.com:5000/shop"
	}, "image-without-version"},
	{"an image with two colons", "", func(f files) {
		f.at("spec", "install", "spec", "deployments", 0, "spec", "template", "spec", "containers", 0).(map[string]any)["image"] = "registry.example.com/shop::v1"
	}, "image-name"},
	{"an object of another kind", "", func(f files) {
		f["manifests/x.yaml"] = map[string]any{"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": map[string]any{"name": "x"}}
	}, "refused-object"},
	{"an object twice", "", func(f files) {
		for _, namespace := range []string{"shops", "monitoring"} {
			f["manifests/"+namespace+".yaml"] = map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "x", "namespace": namespace}}
		}
	}, "repeated-object"},
	{"a binding of everybody", "", func(f files) {
		f["manifests/x.yaml"] = map[string]any{
			"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": map[string]any{"name": "x"},
			"roleRef":  map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
			"subjects": list(map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "system:authenticated"}),
		}
	}, "grants-to-others grants-everything"},
	{"a verb that binds any role", "", grant("clusterroles", "bind"), "grants-everything"},
	{"a verb that escalates a role", "", grant("clusterroles", "escalate"), "grants-everything"},
	{"a verb that impersonates", "", grant("users", "impersonate"), "grants-everything"},
	{"every verb on roles", "", grant("clusterroles", "*"), "grants-everything unbound-role"},
	{"every verb on accounts", "", grant("serviceaccounts", "*"), "grants-everything unbound-role"},
	{"every verb on all resources of Kubernetes' first group", "", func(f files) {
		grant("*", "*")(f)
		f["manifests/x.yaml"]["rules"].([]any)[0].(map[string]any)["apiGroups"] = list("")
	}, "grants-everything unbound-role"},
	{"every verb on roles, for all users who may view", "", func(f files) {
		grant("clusterroles", "*")(f)
		f["manifests/x.yaml"]["metadata"].(map[string]any)["labels"] = map[string]any{"rbac.authorization.k8s.io/aggregate-to-view": "true"}
	}, "grants-everything aggregated-role"},
	{"everything in the watched namespaces", "", func(f files) {
		f.at("spec", "install", "spec").(map[string]any)["permissions"] = list(map[string]any{
			"serviceAccountName": "x", "rules": list(map[string]any{"apiGroups": list("*"), "resources": list("*"), "verbs": list("*")}),
		})
	}, "grants-everything"},
	{"a binding of an account of kube-system with the name of the operator's", "", func(f files) {
		f.pod()["serviceAccountName"] = "default"
		f["manifests/x.yaml"] = bindingOf("default", "kube-system")
	}, "grants-to-others"},
	{"a pod that controls its node", "", func(f files) { f.pod()["hostPID"] = true }, "host-access"},
	{"a namespace for privileged pods", "", suggest(`{"metadata": {"name": "shop", "labels": {"pod-security.kubernetes.io/enforce": "privileged"}}}`), "privileged-namespace"},
	{"a token of another operator", "", func(f files) {
		f["manifests/x.yaml"] = map[string]any{
			"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/service-account-token",
			"metadata": map[string]any{"name": "x", "annotations": map[string]any{"kubernetes.io/service-account.name": "other-operator"}},
		}
	}, "token-secret"},
	{"the address of another server", "", func(f files) {
		f["manifests/x.yaml"] = map[string]any{
			"apiVersion": "v1", "kind": "Service", "metadata": map[string]any{"name": "x"},
			"spec": map[string]any{"externalIPs": list("10.96.0.10"), "ports": list(map[string]any{"port": 53})},
		}
	}, "exposed-service"},
	{"a role that nothing binds", "", grant("secrets", "get"), "unbound-role"},
	{"Secrets for all users who may view", "", func(f files) {
		grant("secrets", "get")(f)
		f["manifests/x.yaml"]["metadata"].(map[string]any)["labels"] = map[string]any{"rbac.authorization.k8s.io/aggregate-to-view": "true"}
	}, "aggregated-role"},
	{"a field misspelt", calling, func(f files) { f.webhook()["sideEfects"] = "None" }, "unknown-field"},
	{"a bundle's annotation misspelt", "", func(f files) { rename(f.annotations(), "channels.v1", "chanels.v1") }, "unknown-field no-annotation"},
	{"the annotations misspelt", "", func(f files) {
		f["metadata/annotations.yaml"] = map[string]any{"annotation": f.annotations()}
	}, "unknown-field no-annotation"},
	{"no annotations", "", func(f files) { delete(f, "metadata/annotations.yaml") }, "no-annotation"},
	{"dependencies under another name", "", func(f files) {
		f["metadata/dependencies.yaml"] = map[string]any{"requires": list()}
	}, "broken-metadata unknown-field"},
	{"a dependency of no type", "", func(f files) {
		f["metadata/dependencies.yaml"] = map[string]any{"dependencies": list(map[string]any{"type": "olm.packages", "value": "shop"})}
	}, "broken-entry"},
	{"a package with capital letters", "", func(f files) { f.annotations()[packageName] = "Shop" }, "package-name"},
	{"a package with a dot, and no namespace", "", func(f files) {
		f.annotations()[packageName] = "shop.example"
		delete(f.csvAnnotations(), "operatorframework.io/suggested-namespace")
	}, "package-name"},
	{"a template that is no JSON", "", suggest("{"), "suggested-namespace"},
	{"a template of a Pod", "", suggest(`{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "shop"}}`), "suggested-namespace"},
	{"a template with a field misspelt", "", suggest(`{"metadata": {"name": "shop", "label": {}}}`), "suggested-namespace"},
	{"a template without a name", "", suggest(`{"metadata": {"labels": {"a": "b"}}}`), "suggested-namespace"},
	{"a template with a label that is none", "", suggest(`{"metadata": {"name": "shop", "labels": {"a": "b/c"}}}`), "suggested-namespace"},
	{"a namespace of Kubernetes", "", suggest(`{"metadata": {"name": "kube-system"}}`), "suggested-namespace"},
	{"a namespace that is none", "", func(f files) {
		f.csvAnnotations()["operatorframework.io/suggested-namespace"] = "A Name"
	}, "suggested-namespace"},
	{"rules of too many combinations", admitting, func(f files) {
		many := make([]any, 101)
		for i := range many {
			many[i] = fmt.Sprintf("a%d.example.com", i)
		}
		f.rule()["apiGroups"], f.rule()["resources"] = many, many
	}, "too-many-combinations"},
	{"a field of another type", "", func(f files) { f.spec()["keywords"] = "many" }, "wrong-type"},
	{"another apiVersion", "", func(f files) { f.of("ClusterServiceVersion")["apiVersion"] = "example.com/v1" }, "csv-api-version"},
	{"a kind misspelt", admitting, func(f files) { f.of("PodDisruptionBudget")["kind"] = "PodDisruptionBudgett" }, "unknown-kind"},
	{"a mandatory field left out", calling, func(f files) { delete(f.webhook(), "sideEffects") }, "csv-schema"},
	{"a port out of range", calling, func(f files) { f.webhook()["containerPort"] = 70000 }, "csv-schema"},
	{"a port changed", calling, func(f files) { f.webhook()["targetPort"] = 1234 }, "undeclared-port"},
	{"a named port changed", calling, func(f files) { f.webhook()["targetPort"] = "nobody" }, "unnamed-port"},
	{"a Deployment renamed", calling, func(f files) { f.deployment()["name"] = "renamed" }, "unknown-deployment"},
	{"a webhook twice", calling, func(f files) { f.another(func(map[string]any) {}) }, "repeated-webhook-name"},
	{"two targets of one port", admitting, func(f files) {
		f.another(func(w map[string]any) { w["generateName"], w["targetPort"] = "another.example.com", 8443 })
	}, "ports-in-conflict"},
	{"a short name", admitting, func(f files) { f.webhook()["generateName"] = "webhook" }, "webhook-name"},
	{"a rule for all groups", admitting, func(f files) { f.rule()["apiGroups"] = list("*") }, "forbidden-rule"},
	{"a rule for OLM's group", admitting, func(f files) { f.rule()["apiGroups"] = list("operators.coreos.com") }, "forbidden-rule"},
	{"a rule for all resources", admitting, func(f files) { f.rule()["resources"] = list("*") }, "wildcard-rule"},
	{"a rule for pods with all that is below", admitting, failing("", "pods/*"), "wildcard-rule fail-on-core"},
	{"a rule for what nodes report", admitting, failing("", "nodes/status"), "fail-on-core"},
	{"a rule for the tokens of pods", admitting, failing("", "serviceaccounts/token"), "fail-on-core"},
	{"a rule for what quotas count", admitting, failing("", "resourcequotas/status"), "fail-on-core"},
	{"a rule for who calls kubelets", admitting, failing("authentication.k8s.io", "tokenreviews"), "fail-on-core"},
	{"a rule for all versions", admitting, func(f files) { f.rule()["apiVersions"] = list("*") }, "wildcard-rule"},
	{"a rule for all operations", admitting, func(f files) { f.rule()["operations"] = list("*") }, "wildcard-rule"},
	{"a rule without operations", admitting, func(f files) { delete(f.rule(), "operations") }, "rule-incomplete"},
	{"an operation that there is not", admitting, func(f files) { f.rule()["operations"] = list("PATCH") }, "rule-incomplete"},
	{"a resource that another covers", admitting, func(f files) { f.rule()["resources"] = list("pods/*", "pods/status") }, "rule-incomplete"},
	{"no rules", admitting, func(f files) { delete(f.webhook(), "rules") }, "no-rules"},
	{"side effects", admitting, func(f files) { f.webhook()["sideEffects"] = "Some" }, "side-effects"},
	{"a version of reviews that no API server supports", calling, func(f files) { f.webhook()["admissionReviewVersions"] = list("v2") }, "review-version-unknown"},
	{"an old version of reviews", calling, func(f files) { f.webhook()["admissionReviewVersions"] = list("v1beta1") }, "review-version-old"},
	{"a timeout beyond the bounds", admitting, func(f files) { f.webhook()["timeoutSeconds"] = 31 }, "timeout-range"},
	{"timeouts that add up", admitting, func(f files) {
		f.webhook()["type"], f.webhook()["timeoutSeconds"] = "MutatingAdmissionWebhook", int64(10)
		f.another(func(w map[string]any) { w["generateName"] = "second.example.com" })
		f.another(func(w map[string]any) {
			w["type"], w["generateName"], w["timeoutSeconds"] = "ValidatingAdmissionWebhook", "third.example.com", int64(1)
		})
	}, "added-latency"},
	{"a long timeout", admitting, func(f files) { f.webhook()["timeoutSeconds"] = 30 }, "long-timeout"},
	{"a relative path", calling, func(f files) { f.webhook()["webhookPath"] = "validate" }, "webhook-path"},
	{"conditions of a webhook that there is not", "", func(f files) {
		f.csvAnnotations()["olm-webhook-manager.io/match-conditions"] = `{"other.example.com": [{"name": "a", "expression": "true"}]}`
	}, "match-conditions"},
	{"a security-critical webhook that there is not", "", func(f files) {
		f.csvAnnotations()["olm-webhook-manager.io/security-critical"] = "other.example.com"
	}, "security-critical-name"},
	{"a condition that does not compile", admitting, func(f files) { f.condition("a", "objekt.spec == 1") }, "match-condition-invalid"},
	{"a condition that is no question", admitting, func(f files) { f.condition("a", "object.metadata.name + 'a'") }, "match-condition-invalid"},
	{"a condition of no name", admitting, func(f files) { f.condition("no name", "true") }, "match-condition-invalid"},
	{"a policy in lower case", admitting, func(f files) { f.webhook()["failurePolicy"] = "fail" }, "webhook-value"},
	{"a selector that is none", admitting, func(f files) {
		f.webhook()["objectSelector"] = map[string]any{"matchExpressions": list(map[string]any{"key": "a", "operator": "In"})}
	}, "object-selector"},
	{"the pods of all namespaces", admitting, func(f files) {
		f.modes("AllNamespaces")
		f.webhook()["failurePolicy"] = "Fail"
		f.rule()["resources"], f.rule()["scope"] = list("pods", "secrets"), "*"
		f.rule()["apiGroups"], f.rule()["operations"] = list(""), list("*")
		delete(f.webhook(), "objectSelector")
	}, "fail-on-core kube-system-covered self-deadlock"},
	{"the kind in place of its plural", admitting, func(f files) {
		f.rule()["apiGroups"], f.rule()["resources"] = list(""), list("Namespace")
	}, "rule-matches-nothing"},
	{"a group that is misspelled", admitting, func(f files) {
		f.rule()["apiGroups"], f.rule()["resources"], f.rule()["scope"] = list("app"), list("deployments"), "*"
	}, "rule-matches-nothing"},
	{"cluster-scoped objects of one namespace", admitting, func(f files) {
		f.modes("OwnNamespace")
		f.rule()["apiGroups"], f.rule()["resources"], f.rule()["scope"] = list(""), list("nodes"), "*"
	}, "scope-escapes"},
	{"all of core for one namespace", admitting, func(f files) {
		f.modes("OwnNamespace")
		f.rule()["apiGroups"], f.rule()["resources"], f.rule()["operations"], f.rule()["scope"] = list(""), list("*"), list("*"), "*"
	}, "scope-escapes namespaces-unlabelled"},
	{"new Namespaces of one namespace", admitting, func(f files) {
		f.modes("SingleNamespace")
		f.rule()["apiGroups"], f.rule()["resources"], f.rule()["operations"], f.rule()["scope"] = list(""), list("namespaces"), list("CREATE"), "*"
	}, "namespaces-unlabelled"},
	{"a version that is not served", converting, func(f files) {
		f.definition()["versions"].([]any)[0].(map[string]any)["served"] = false
	}, "owned-version"},
	{"an APIService without a server", "", func(f files) { f.own(apiService("example.com", "nobody")) }, "owned-apiservice"},
	{"an APIService of two servers", "", func(f files) {
		one, other := apiService("api.example.com", f.deployment()["name"]), apiService("api.example.com", f.deployment()["name"])
		other["kind"], other["containerPort"] = "Till", 8443
		f.own(one, other)
	}, "owned-apiservice"},
	{"an APIService of Kubernetes", "", func(f files) { f.own(apiService("apps", f.deployment()["name"])) }, "reserved-group"},
	{"an APIService of a group that Kubernetes reserves", "", func(f files) {
		f.own(apiService("custom.metrics.k8s.io", f.deployment()["name"]))
	}, "reserved-group"},
	{"a conversion with a rule for everything", converting, func(f files) {
		f.webhook()["rules"] = list(map[string]any{"apiGroups": list("*"), "apiVersions": list("v1"), "resources": list("*"), "operations": list("CREATE")})
	}, "forbidden-rule"},
	{"a conversion for one namespace", converting, func(f files) { f.modes("AllNamespaces", "OwnNamespace") }, "conversion-refused"},
	{"a conversion of nothing", converting, func(f files) { delete(f.webhook(), "conversionCRDs") }, "conversion-refused conversion-undeclared"},
	{"a conversion of what is not owned", converting, func(f files) { f.webhook()["conversionCRDs"] = list("others.example.com") }, "conversion-refused"},
	{"a conversion of what is not there", converting, func(f files) { f.remove("CustomResourceDefinition") }, "conversion-crd olm-bundle"},
	{"a conversion of one version", converting, func(f files) {
		f.definition()["versions"] = f.definition()["versions"].([]any)[:1]
	}, "conversion-of-one-version"},
	{"a conversion by a URL", converting, func(f files) {
		f.definition()["conversion"] = map[string]any{"strategy": "Webhook", "webhook": map[string]any{"conversionReviewVersions": list("v1"), "clientConfig": map[string]any{"url": "https://evil.example.com"}}}
	}, "conversion-differs"},
	{"a conversion with a caBundle", converting, func(f files) {
		f.definition()["conversion"] = map[string]any{"strategy": "Webhook", "webhook": map[string]any{"conversionReviewVersions": list("v1"), "clientConfig": map[string]any{"caBundle": "Q0E=", "service": map[string]any{"namespace": "evil", "name": "evil", "path": f.webhook()["webhookPath"]}}}}
	}, "conversion-differs"},
	{"a conversion at another path", converting, func(f files) { f.webhook()["webhookPath"] = "/other" }, "conversion-differs"},
	{"a definition without schema", converting, func(f files) {
		delete(f.definition()["versions"].([]any)[0].(map[string]any), "schema")
	}, "crd-invalid"},
	{"a definition of old", converting, func(f files) { f.of("CustomResourceDefinition")["apiVersion"] = "apiextensions.k8s.io/v1beta1" }, "crd-v1beta1"},
	{"two Deployments of one name", "", func(f files) {
		spec := f.at("spec", "install", "spec").(map[string]any)
		spec["deployments"] = append(spec["deployments"].([]any), f.deployment())
	}, "unknown-deployment"},
	{"a selector of other pods", "", func(f files) {
		f.deploymentSpec()["selector"] = map[string]any{"matchLabels": map[string]any{"a": "b"}}
	}, "selector-mismatch"},
	{"two volumes of one name", "", func(f files) {
		volume := map[string]any{"name": "a", "emptyDir": map[string]any{}}
		f.pod()["volumes"] = list(volume, volume)
	}, "pod-invalid"},
	{"two containers of one name", "", func(f files) {
		f.pod()["initContainers"] = list(map[string]any{"name": f.container()["name"], "image": "example.com/a"})
	}, "pod-invalid"},
	{"a volume that there is not", "", func(f files) {
		f.container()["volumeMounts"] = list(map[string]any{"name": "nothing", "mountPath": "/a"})
	}, "pod-invalid"},
	{"two volumes in one place", "", func(f files) {
		f.pod()["volumes"] = list(map[string]any{"name": "a", "emptyDir": map[string]any{}})
		mount := map[string]any{"name": "a", "mountPath": "/a"}
		f.container()["volumeMounts"] = list(mount, mount)
	}, "pod-invalid"},
	{"no replicas", calling, func(f files) { f.deploymentSpec()["replicas"] = 0 }, "no-replicas"},
	{"an account that does not exist", "", func(f files) { f.pod()["serviceAccountName"] = "missing" }, "missing-service-account"},
	{"a Secret of another tool", "", func(f files) {
		f.pod()["volumes"] = list(map[string]any{"name": "tls", "secret": map[string]any{"secretName": "issued"}})
		f.container()["volumeMounts"] = list(map[string]any{"name": "tls", "mountPath": "/tls"})
	}, "missing-secret"},
	{"a Secret of another tool among others in one volume", "", func(f files) {
		f.pod()["volumes"] = list(map[string]any{"name": "all", "projected": map[string]any{"sources": list(
			map[string]any{"configMap": map[string]any{"name": "kube-root-ca.crt"}},
			map[string]any{"secret": map[string]any{"name": "issued"}},
		)}})
		f.container()["volumeMounts"] = list(map[string]any{"name": "all", "mountPath": "/tls"})
	}, "missing-secret"},
	{"a variable from a Secret", "", func(f files) {
		f.container()["env"] = list(map[string]any{"name": "A", "valueFrom": map[string]any{"secretKeyRef": map[string]any{"name": "issued", "key": "a"}}})
	}, "missing-secret"},
	{"one replica", admitting, closed(func(f files) { f.deploymentSpec()["replicas"] = 1 }), "one-replica"},
	{"no budget", admitting, closed(func(f files) { f.remove("PodDisruptionBudget") }), "no-disruption-budget"},
	{"a budget that selects no pod", admitting, closed(func(f files) {
		f.of("PodDisruptionBudget")["spec"].(map[string]any)["maxUnavailable"] = "100%"
	}), "no-disruption-budget"},
	{"a readiness probe of another container", admitting, closed(func(f files) {
		probe := f.container()["readinessProbe"]
		delete(f.container(), "readinessProbe")
		f.pod()["containers"] = append(f.pod()["containers"].([]any), map[string]any{"name": "proxy", "image": "example.com/proxy", "readinessProbe": probe})
	}), "no-readiness-probe"},
	{"no readiness probe", admitting, closed(func(f files) {
		for _, c := range f.pod()["containers"].([]any) {
			delete(c.(map[string]any), "readinessProbe")
		}
	}), "no-readiness-probe"},
	{"one replica that converts", converting, func(f files) {
		f.webhook()["failurePolicy"] = "Ignore" // which does not concern a conversion
		f.deploymentSpec()["replicas"] = 1
	}, "one-replica"},
	{"no budget for what converts", converting, func(f files) { f.remove("PodDisruptionBudget") }, "no-disruption-budget"},
	{"no readiness probe of what converts", converting, func(f files) { delete(f.container(), "readinessProbe") }, "no-readiness-probe"},
	{"no requests", "", func(f files) { delete(f.container(), "resources") }, "olm-good-practices"},
	{"an unknown category", "", func(f files) { f.csvAnnotations()["categories"] = "Odds and Ends" }, "olm-categories"},
	{"an unknown capability", "", func(f files) { f.csvAnnotations()["capabilities"] = "All of Them" }, "olm-capabilities"},
	{"a name that is none", "", func(f files) { f.at("metadata").(map[string]any)["name"] = "A Name" }, "olm-csv"},
	{"a budget of nothing", admitting, func(f files) { f.of("PodDisruptionBudget")["spec"].(map[string]any)["maxUnavailable"] = 0 }, "olm-object"},
	{"no provider", "", func(f files) { f.spec()["provider"] = map[string]any{"name": " "} }, "olm-operatorhub"},
	{"examples that fill a database", "", func(f files) { f.csvAnnotations()["description"] = strings.Repeat("a", maxStored) }, "too-big-to-store"},
	{"a budget without apiVersion", admitting, func(f files) { delete(f.of("PodDisruptionBudget"), "apiVersion") }, "not-an-object"},
	{"a budget of old", admitting, func(f files) { f.of("PodDisruptionBudget")["apiVersion"] = "policy/v1beta1" }, "olm-removed-apis"},
}

// TestBrokenExamplesAreFound counts what the breakage alone brings: a finding of the whole example proves nothing.
func TestBrokenExamplesAreFound(t *testing.T) {
	broken := map[string]int{}
	for _, dir := range examples(t) {
		wholeBundle := Run(inspect(t, readFiles(t, dir)))
		for _, c := range breakages {
			f := readFiles(t, dir)
			if c.on != "" && !strings.Contains(f.webhookType(), c.on) {
				continue
			}
			broken[c.name]++
			t.Run(filepath.Base(filepath.Dir(dir))+"/"+filepath.Base(dir)+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				c.do(f)
				report := Run(inspect(t, f))
				mustNameARemedy(t, report)
				found := codes(report.without(wholeBundle))
				installtest.Among(t, found, strings.Fields(c.want)...)
			})
		}
	}
	for _, c := range breakages {
		installtest.Same(t, c.name+" was done to an example", true, broken[c.name] > 0)
	}
}

func mustNameARemedy(t *testing.T, r Report) {
	t.Helper()
	for _, f := range r.Findings {
		if f.Remedy == "" {
			t.Errorf("%s names no next step: %s", f.Code, f.What)
		}
	}
}

// without leaves the findings that another report does not have, wherever they stand.
func (r Report) without(other Report) Report {
	r.Findings = slices.DeleteFunc(slices.Clone(r.Findings), func(f Finding) bool {
		return slices.ContainsFunc(other.Findings, func(o Finding) bool { return o.Code == f.Code && o.Path == f.Path && o.What == f.What })
	})
	return r
}

// TestEveryCheckFindsSomething: a check that no breakage trips reports nothing.
func TestEveryCheckFindsSomething(t *testing.T) {
	elsewhere := []string{
		// Broken by the text of a file: see TestOLMReadsItSo.
		"not-a-bundle", "broken-file", "no-csv", "several-csvs", "repeated-field", "several-objects", "stray-file",
		"too-big",       // see TestProblems of pkg/cli/bundle
		"unused-waiver", // see TestWaivers
	}
	for _, c := range Checks() {
		tripped := slices.ContainsFunc(breakages, func(b breakage) bool { return slices.Contains(strings.Fields(b.want), c.Code) })
		installtest.Same(t, "a breakage trips "+c.Code, true, tripped || slices.Contains(elsewhere, c.Code))
	}
}

func readFiles(t testing.TB, dir string) files {
	t.Helper()
	all := files{}
	names := installtest.OrPanic(filepath.Glob(dir + "/*/*.yaml"))
	for _, name := range names {
		text := installtest.OrPanic(os.ReadFile(name))
		var object map[string]any
		must(t, yaml.Unmarshal(text, &object))
		relative := installtest.OrPanic(filepath.Rel(dir, name))
		all[filepath.ToSlash(relative)] = object
	}
	return all
}

func inspect(t *testing.T, f files) *bundle.Bundle {
	t.Helper()
	return bundle.InspectFS(f.fs(t), "test")
}

func (f files) fs(t testing.TB) fs.FS {
	t.Helper()
	fsys := fstest.MapFS{}
	for name, object := range f {
		text := installtest.OrPanic(yaml.Marshal(object))
		fsys[name] = &fstest.MapFile{Data: text, Mode: fs.ModePerm}
	}
	return fsys
}
