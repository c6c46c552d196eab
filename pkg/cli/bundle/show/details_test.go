package show

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"sigs.k8s.io/yaml"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/output"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// Fields that are dangerous are shown with the name.
func TestDetails(t *testing.T) {
	for text, want := range map[string]string{
		"{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {type: LoadBalancer, externalIPs: [10.0.0.1, 10.0.0.2]}}":                                                                                                                      "type LoadBalancer, externalIPs 10.0.0.1 10.0.0.2",
		"{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {type: ExternalName, externalName: evil.example.com}}":                                                                                                                         "type ExternalName, externalName evil.example.com",
		"{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {type: ClusterIP}}":                                                                                                                                                            "",
		"{apiVersion: v1, kind: ServiceAccount, metadata: {name: a, annotations: {eks.amazonaws.com/role-arn: admin}}}":                                                                                                                            "annotation eks.amazonaws.com/role-arn=admin",
		"{apiVersion: v1, kind: Secret, metadata: {name: a, namespace: shop, annotations: {kubernetes.io/service-account.name: other}}, type: kubernetes.io/service-account-token}":                                                                "a token of ServiceAccount shop/other",
		"{apiVersion: v1, kind: Secret, metadata: {name: bootstrap-token-abcdef}, type: bootstrap.kubernetes.io/token}":                                                                                                                            "type bootstrap.kubernetes.io/token",
		"{apiVersion: v1, kind: Secret, metadata: {name: a}, type: Opaque}":                                                                                                                                                                        "",
		"{apiVersion: monitoring.coreos.com/v1, kind: ServiceMonitor, metadata: {name: a}, spec: {namespaceSelector: {any: true}, endpoints: [{bearerTokenFile: /var/run/secrets/token}]}}":                                                        "in all namespaces, sends Prometheus's file /var/run/secrets/token",
		"{apiVersion: monitoring.coreos.com/v1, kind: PodMonitor, metadata: {name: a}, spec: {namespaceSelector: {matchNames: [a, b]}}}":                                                                                                           "in namespaces a b",
		"{apiVersion: console.openshift.io/v1, kind: ConsolePlugin, metadata: {name: a}, spec: {proxy: [{alias: x, authorization: UserToken}]}}":                                                                                                   "gets the tokens of the console's users",
		"{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: a}, spec: {maxUnavailable: 0}}":                                                                                                                                       "maxUnavailable 0",
		"{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: a}, spec: {podSelector: {}}}":                                                                                                                                    "for all pods of the namespace",
		"{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: b}, spec: {podSelector: {matchLabels: {}}}}":                                                                                                                     "for all pods of the namespace",
		"{apiVersion: monitoring.coreos.com/v1, kind: ServiceMonitor, metadata: {name: b}, spec: {endpoints: [{proxyUrl: 'http://a', authorization: {credentials: {name: other, key: token}}, tlsConfig: {ca: {secret: {name: tls, key: ca}}}}]}}": "through http://a, sends contents of other tls",
		"{apiVersion: autoscaling.k8s.io/v1, kind: VerticalPodAutoscaler, metadata: {name: a}, spec: {targetRef: {kind: Deployment, name: other}}}":                                                                                                "restarts pods of Deployment other",
		"{apiVersion: console.openshift.io/v1, kind: ConsoleLink, metadata: {name: a}, spec: {href: 'https://evil.example.com'}}":                                                                                                                  "to https://evil.example.com",
		"{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: a}, spec: {podSelector: {matchLabels: {app: a}}}}":                                                                                                               "for pods with app=a",
		"{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: a}, spec: {maxUnavailable: 1}}":                                                                                                                                       "",
		"{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: a}, spec: {minAvailable: 100%}}":                                                                                                                                      "minAvailable 100%",
		"{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: a}, value: 7, globalDefault: true}":                                                                                                                              "value 7, globalDefault",
		"{apiVersion: other.example.com/v1, kind: Service, metadata: {name: a}, spec: {type: LoadBalancer}}":                                                                                                                                       "",
	} {
		object := &unstructured.Unstructured{}
		installtest.Must(t, yaml.Unmarshal([]byte(text), &object.Object))
		installtest.Same(t, text, want, strings.Join(Details(object), ", "))
	}
}

// interceptions are the kinds that intercept requests: all of their groups that Kubernetes has. They need --allow-kind.
var interceptions = append(kindsOf(admissionregistrationv1.SchemeGroupVersion), schema.GroupKind{Group: apiregistrationv1.GroupName, Kind: "APIService"})

// kindsOf returns the kinds of objects in a version of an API group.
func kindsOf(version schema.GroupVersion) (all []schema.GroupKind) {
	for kind, known := range scheme.Scheme.KnownTypes(version) {
		if reflect.PointerTo(known).Implements(reflect.TypeFor[metav1.Object]()) {
			all = append(all, schema.GroupKind{Group: version.Group, Kind: kind})
		}
	}
	return all
}

// A binding turns on a policy, also one that the bundle does not bring.
func TestBindingsOfPolicies(t *testing.T) {
	if n := len(interceptions); n < 7 {
		t.Fatalf("there are %d kinds", n)
	}
	for _, c := range []struct {
		objects []string
		want    []string
	}{
		{[]string{`{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, metadata: {name: b}, spec: {policyName: p, validationActions: [Deny, Audit]}}`}, []string{
			"what ValidatingAdmissionPolicy p matches", "wherever the policy matches Deny, Audit", "b (ValidatingAdmissionPolicyBinding b, turns on ValidatingAdmissionPolicy p, which the bundle does not bring)",
		}},
		{[]string{
			`{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: {name: p}, spec: {}}`,
			`{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, metadata: {name: b}, spec: {policyName: p, validationActions: [Warn]}}`,
		}, []string{"where its bindings apply it", "Warn", "b (ValidatingAdmissionPolicyBinding b, turns on ValidatingAdmissionPolicy p)"}},
		{[]string{`{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingAdmissionPolicyBinding, metadata: {name: b}, spec: {policyName: p, matchResources: {
namespaceSelector: {matchLabels: {a: b}}, resourceRules: [{operations: [CREATE], apiGroups: [''], apiVersions: [v1], resources: [pods]}]}}}`}, []string{
			"CREATE pods", "in namespaces with a=b", "failurePolicy of the policy", "b (MutatingAdmissionPolicyBinding b, turns on MutatingAdmissionPolicy p, which the bundle does not bring)",
		}},
		{[]string{`{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingAdmissionPolicyBinding, metadata: {name: b}, spec: {policyName: p, matchResources: {
namespaceSelector: {matchLabels: {env: test}}, objectSelector: {matchLabels: {c: d}}}}}`}, []string{
			"wherever the policy matches; namespaced objects only in namespaces with env=test, if c=d failurePolicy of the policy",
		}},
	} {
		objects := lists.Map(c.objects, func(text string) *unstructured.Unstructured { return parsed(t, text) })
		const namespace, csv = "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}", "{apiVersion: operators.coreos.com/v1alpha1, kind: ClusterServiceVersion, metadata: {name: shop.v1}}"
		got := strings.Join(strings.Fields(printed(t, namespace, csv, objects...)), " ")
		installtest.Contains(t, got, c.want...)
	}
}

// Of every kind that bundles may have, it is decided which fields are shown, or another list shows it. Each version that
// grants or intercepts and that no list shows is refused, also where its kind is allowed.
func TestDangerIsDecidedForEveryKind(t *testing.T) {
	versions := []string{"v1", "v1alpha1", "v1beta1", "v1beta2", "v2"}
	deciding := []string{admissionregistrationv1.GroupName, apiregistrationv1.GroupName, rbacv1.GroupName}
	for _, kind := range slices.Concat(bundle.SupportedKinds(), interceptions) {
		for _, version := range versions {
			object := &unstructured.Unstructured{Object: map[string]any{"webhooks": []any{map[string]any{"name": "a"}}, "subjects": []any{map[string]any{"name": "a"}}}}
			object.SetAPIVersion(kind.WithVersion(version).GroupVersion().String())
			object.SetKind(kind.Kind)
			typed := bundle.Typed(object)
			shown := contents{}
			listed := shown.define(typed) || shown.keep(typed)
			b := &bundle.Bundle{Objects: []*bundle.Object{{Unstructured: object, Typed: typed}}}
			refused := len(b.Refusals([]schema.GroupKind{kind})) > 0
			_, decided := dangerous[kind]
			switch {
			case slices.Contains(deciding, kind.Group) && listed == refused:
				t.Errorf("%s in version %s is shown: %t, and refused: %t", kind, version, listed, refused)
			case version == "v1" && !decided && !listed && kind.Kind != "ClusterServiceVersion":
				t.Errorf("it is not decided which fields of %s are shown", kind)
			}
		}
	}
}

// The notice has the name of each object of a bundle, also of one whose lists are empty.
func TestEveryObjectIsNamed(t *testing.T) {
	const namespace, csv = "{apiVersion: v1, kind: Namespace, metadata: {name: in-this-namespace}}", "{apiVersion: operators.coreos.com/v1alpha1, kind: ClusterServiceVersion, metadata: {name: this-version}}"
	bindingOf := map[string]string{"ClusterRoleBinding": "ClusterRole", "RoleBinding": "Role"}
	var all []*unstructured.Unstructured
	for _, kind := range slices.Concat(bundle.SupportedKinds(), interceptions) {
		object := &unstructured.Unstructured{Object: map[string]any{
			"spec": map[string]any{}, "webhooks": []any{}, "rules": []any{}, "subjects": []any{},
			"roleRef": map[string]any{"kind": bindingOf[kind.Kind], "name": "name-of-" + strings.ToLower(bindingOf[kind.Kind]) + "-object"},
		}}
		object.SetAPIVersion(kind.WithVersion("v1").GroupVersion().String())
		object.SetKind(kind.Kind)
		object.SetName("name-of-" + strings.ToLower(kind.Kind) + "-object")
		all = append(all, object)
		installtest.Contains(t, printed(t, namespace, csv, object), object.GetName())
	}
	got := printed(t, namespace, csv, all...)
	for _, object := range all {
		installtest.Contains(t, got, object.GetName())
	}
}

// printed is the notice about a namespace, objects and a ClusterServiceVersion.
func printed(t *testing.T, namespace, csv string, objects ...*unstructured.Unstructured) string {
	t.Helper()
	manifests := slices.Concat([]*unstructured.Unstructured{parsed(t, namespace)}, objects, []*unstructured.Unstructured{parsed(t, csv)})
	var out bytes.Buffer
	Of(&bundle.Bundle{}, manifests).PrintNotice(output.New(&out))
	return out.String()
}

func parsed(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	installtest.Must(t, yaml.Unmarshal([]byte(text), &object.Object))
	return object
}

// The notice shows the versions that are replaced, and the pods with the config of the Subscription, as they are created.
func TestNoticeIsOfTheConfiguredPods(t *testing.T) {
	const csv = `{apiVersion: operators.coreos.com/v1alpha1, kind: ClusterServiceVersion, metadata: {name: shop.v2, annotations: {container.apparmor.security.beta.kubernetes.io/c: unconfined}}, spec: {
replaces: shop.v1, skips: [shop.v0, shop.v1-beta],
install: {strategy: deployment, spec: {deployments: [{name: server, spec: {template: {spec: {serviceAccountName: shop, containers: [{name: c, image: a}]}}}}]}}}}`
	const subscription = `{apiVersion: operators.coreos.com/v1alpha1, kind: Subscription, metadata: {name: shop, namespace: shop}, spec: {config: {
volumes: [{name: root, hostPath: {path: /etc}}, {name: tls, secret: {secretName: other-tls}}], envFrom: [{secretRef: {name: variables}}],
env: [{name: A, valueFrom: {secretKeyRef: {name: variable, key: x}}}]}}}`
	got := strings.Join(strings.Fields(printed(t, "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}", csv, parsed(t, subscription))), " ")
	installtest.Contains(t, got, "replaces: shop.v1 skips: shop.v0, shop.v1-beta", "server shop a hostPath /etc", "apparmor", "mount Secrets other-tls variable variables")
}

// The Secrets that the pods of an operator may read are listed, their ConfigMaps are not, and an aggregated API server gets roles.
func TestPermissionsOfPods(t *testing.T) {
	const csv = `{apiVersion: operators.coreos.com/v1alpha1, kind: ClusterServiceVersion, metadata: {name: shop.v1}, spec: {
apiservicedefinitions: {owned: [{group: shop.io, version: v1, kind: Shop, deploymentName: server}]},
install: {strategy: deployment, spec: {deployments: [{name: server, spec: {template: {spec: {serviceAccountName: shop,
volumes: [{name: a, secret: {secretName: other-tls}}, {name: b, secret: {secretName: own}}, {name: c, projected: {sources: [{secret: {name: projected}}, {configMap: {name: settings}}]}},
{name: d, configMap: {name: settings}}, {name: e, csi: {driver: a, nodePublishSecretRef: {name: driver}}}], containers: [{name: c,
env: [{name: A, valueFrom: {secretKeyRef: {name: variable, key: x}}}, {name: B, valueFrom: {configMapKeyRef: {name: settings, key: x}}}],
envFrom: [{secretRef: {name: variables}}, {configMapRef: {name: settings}}]}]}}}}]}}}}`
	var manifests []*unstructured.Unstructured
	for _, text := range []string{"{apiVersion: v1, kind: Namespace, metadata: {name: shop}}", "{apiVersion: v1, kind: ServiceAccount, metadata: {name: shop, namespace: shop}}", "{apiVersion: v1, kind: Secret, metadata: {name: own, namespace: shop}}", csv} {
		object := &unstructured.Unstructured{}
		installtest.Must(t, yaml.Unmarshal([]byte(text), &object.Object))
		manifests = append(manifests, object)
	}
	got := rows(contentsOf(manifests).permissions())
	want := [][]string{
		{"shop", "cluster", "all of", "ClusterRole system:auth-delegator"},
		{"shop", "kube-system", "all of", "Role extension-apiserver-authentication-reader"},
		{"shop", "shop", "mount", "Secrets other-tls projected driver variable variables"},
	}
	installtest.Same(t, "details", want, got)
}
