package show

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
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
		installtest.Same(t, text, want, detailsOf(object))
	}
}

// Of every kind that bundles may have, it is decided which fields are shown, or another list shows it.
func TestDangerIsDecidedForEveryKind(t *testing.T) {
	shown := contents{}
	for _, kind := range bundle.SupportedKinds() {
		object := &unstructured.Unstructured{}
		version := "v1"
		object.SetAPIVersion(kind.WithVersion(version).GroupVersion().String())
		object.SetKind(kind.Kind)
		typed := bundle.Typed(object)
		if _, decided := dangerous[kind]; !decided && !shown.define(typed) && !shown.keep(typed) && kind.Kind != "ClusterServiceVersion" {
			t.Errorf("it is not decided which fields of %s are shown", kind)
		}
	}
}

// The pods of an operator may read Secrets of the namespace, and an aggregated API server gets roles.
func TestPermissionsOfPods(t *testing.T) {
	const csv = `{apiVersion: operators.coreos.com/v1alpha1, kind: ClusterServiceVersion, metadata: {name: shop.v1}, spec: {
apiservicedefinitions: {owned: [{group: shop.io, version: v1, kind: Shop, deploymentName: server}]},
install: {strategy: deployment, spec: {deployments: [{name: server, spec: {template: {spec: {serviceAccountName: shop,
volumes: [{name: a, secret: {secretName: other-tls}}, {name: b, secret: {secretName: own}}, {name: c, projected: {sources: [{secret: {name: projected}}]}}],
containers: [{name: c, env: [{name: A, valueFrom: {secretKeyRef: {name: variable, key: x}}}], envFrom: [{secretRef: {name: variables}}]}]}}}}]}}}}`
	var manifests []*unstructured.Unstructured
	for _, text := range []string{"{apiVersion: v1, kind: Namespace, metadata: {name: shop}}", "{apiVersion: v1, kind: ServiceAccount, metadata: {name: shop, namespace: shop}}", "{apiVersion: v1, kind: Secret, metadata: {name: own, namespace: shop}}", csv} {
		object := &unstructured.Unstructured{}
		installtest.Must(t, yaml.Unmarshal([]byte(text), &object.Object))
		manifests = append(manifests, object)
	}
	var got [][]string
	for _, p := range contentsOf(manifests).permissions() {
		got = append(got, []string{p.Account, p.Where, p.Verbs, p.On})
	}
	want := [][]string{
		{"shop", "cluster", "all of", "ClusterRole system:auth-delegator"},
		{"shop", "kube-system", "all of", "Role extension-apiserver-authentication-reader"},
		{"shop", "shop", "mount", "Secrets other-tls projected variable variables"},
	}
	installtest.Same(t, "details", want, got)
}
