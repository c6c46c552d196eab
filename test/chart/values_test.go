package chart

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

const (
	deployment = "Deployment olm-webhook-manager/olm-webhook-manager"
	container  = "spec/template/spec/containers/0/"
	digest     = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
)

// TestValues has a row for each value: the field of the object that it changes. An empty field means that the object or
// the field does not exist.
func TestValues(t *testing.T) {
	tests := []struct {
		key, values  string
		object, path string
		want         string // as YAML
	}{
		{"crds.create", "crds: {create: false}", "CustomResourceDefinition webhookrollouts.olm-webhook-manager.io", "kind", ""},
		{"crds.create", "crds: {create: false}", "CustomResourceDefinition subscriptions.operators.coreos.com", "kind", "CustomResourceDefinition"},
		{"crds.olm", "crds: {olm: false}", "CustomResourceDefinition subscriptions.operators.coreos.com", "kind", ""},
		{"crds.olm", "crds: {olm: false}", "CustomResourceDefinition webhookrollouts.olm-webhook-manager.io", "kind", "CustomResourceDefinition"},
		{"image.repository", "image: {repository: registry.example.com/m}", deployment, container + "image", "registry.example.com/m:dev"},
		{"image.tag", "image: {tag: v1}", deployment, container + "image", "docker.io/olm-webhook-manager/olm-webhook-manager:v1"},
		{"image.digest", "image: {repository: m, tag: v1, digest: '" + digest + "'}", deployment, container + "image", "m@" + digest},
		{"image.pullPolicy", "image: {pullPolicy: Always}", deployment, container + "imagePullPolicy", "Always"},
		{"imagePullSecrets", "imagePullSecrets: [{name: registry}]", deployment, "spec/template/spec/imagePullSecrets", "[{name: registry}]"},
		{"replicas", "replicas: 3", deployment, "spec/replicas", "3"},
		{"replicas", "replicas: 0", deployment, "spec/replicas", "0"},
		{"replicas", "replicas: 1", "PodDisruptionBudget olm-webhook-manager/olm-webhook-manager", "kind", ""},
		{"namespaces", "namespaces: [shop, stock]", deployment, container + "args", "[run, '--namespaces=shop,stock']"},
		{"namespaces", "namespaces: [shop, stock]", "RoleBinding stock/olm-webhook-manager", "subjects", "[{kind: ServiceAccount, name: olm-webhook-manager, namespace: olm-webhook-manager}]"},
		{"namespaces", "namespaces: ['1']", "Role 1/olm-webhook-manager", "metadata/namespace", "'1'"}, // A string, also in YAML.
		{"liftRoles", "liftRoles: true\nnamespaces: [shop]", deployment, container + "args", "[run, --namespaces=shop, --lift-roles]"},
		{"liftRoles", "liftRoles: true\nnamespaces: [shop]", "ClusterRoleBinding olm-webhook-manager-lift-roles", "roleRef/name", "olm-webhook-manager-lift-roles"},
		{"withOLM", "withOLM: true", deployment, container + "args", "[run, --lift-roles, --with-olm]"},
		{"withOLM", "withOLM: true", "ClusterRoleBinding olm-webhook-manager-with-olm", "roleRef/name", "olm-webhook-manager-with-olm"},
		{"withOLM", "withOLM: true", "ClusterRoleBinding olm-webhook-manager-lift-roles", "roleRef/name", "olm-webhook-manager-lift-roles"},
		{"logLevel", "logLevel: debug", deployment, container + "args", "[run, --log-level=debug]"},
		{"logLevel", "logLevel: null", deployment, container + "args", "[run]"},
		{"logFormat", "logFormat: null", deployment, container + "args", "[run]"},
		{"logFormat", "logFormat: json", deployment, container + "args", "[run, --log-format=json]"},
		{"extraArgs", "extraArgs: [--certificate-validity=720h, --settle=1s]", deployment, container + "args", "[run, --certificate-validity=720h, --settle=1s]"},
		{"resources.requests.cpu", "resources: {requests: {cpu: 1}}", deployment, container + "resources/requests", "{cpu: 1, memory: 128Mi}"},
		{"resources.requests.memory", "resources: {requests: {memory: 1Gi}}", deployment, container + "resources/requests", "{cpu: 50m, memory: 1Gi}"},
		{"resources.limits.memory", "resources: {limits: {memory: null}}", deployment, container + "resources/limits", "{}"},
		{"podDisruptionBudget.enabled", "podDisruptionBudget: {enabled: false}", "PodDisruptionBudget olm-webhook-manager/olm-webhook-manager", "kind", ""},
		{"networkPolicy.enabled", "networkPolicy: {enabled: false}", "NetworkPolicy olm-webhook-manager/olm-webhook-manager", "kind", ""},
		{"networkPolicy.enabled", "networkPolicy: {enabled: false}\nmonitoring: {enabled: true}", "NetworkPolicy olm-webhook-manager/olm-webhook-manager-metrics", "kind", ""},
		{"monitoring.enabled", "monitoring: {enabled: false}", "ServiceMonitor olm-webhook-manager/olm-webhook-manager", "kind", ""},
		{"monitoring.enabled", "monitoring: {enabled: true}", "ServiceMonitor olm-webhook-manager/olm-webhook-manager", "kind", "ServiceMonitor"},
		{"monitoring.labels", "monitoring: {enabled: true, labels: {release: p}}", "ServiceMonitor olm-webhook-manager/olm-webhook-manager", "metadata/labels", "{release: p}"},
		{"monitoring.labels", "monitoring: {enabled: true, labels: {release: p}}", "PrometheusRule olm-webhook-manager/olm-webhook-manager", "metadata/labels", "{release: p}"},
		{"monitoring.prometheusPodLabels", "monitoring: {enabled: true, prometheusPodLabels: {app.kubernetes.io/name: null, app: p}}",
			"NetworkPolicy olm-webhook-manager/olm-webhook-manager-metrics", "spec/ingress/0/from/0/podSelector/matchLabels", "{app: p}"},
		{"monitoring.tlsSecretName", "monitoring: {tlsSecretName: tls}", deployment, container + "args", "[run, --metrics-tls-cert-file=/etc/metrics-tls/tls.crt, --metrics-tls-private-key-file=/etc/metrics-tls/tls.key]"},
		{"monitoring.tlsSecretName", "monitoring: {tlsSecretName: tls}", deployment, container + "volumeMounts", "[{name: metrics-tls, mountPath: /etc/metrics-tls, readOnly: true}]"},
		{"monitoring.tlsSecretName", "monitoring: {tlsSecretName: tls}", deployment, "spec/template/spec/volumes", "[{name: metrics-tls, secret: {secretName: tls}}]"},
		{"monitoring.tlsSecretName", "monitoring: {tlsSecretName: '123'}", deployment, "spec/template/spec/volumes/0/secret", "{secretName: '123'}"}, // A string, also in YAML.
		{"monitoring.tlsConfig", "monitoring: {enabled: true, tlsConfig: {insecureSkipVerify: false, serverName: m}}", "ServiceMonitor olm-webhook-manager/olm-webhook-manager", "spec/endpoints/0/tlsConfig", "{insecureSkipVerify: false, serverName: m}"},
		{"podSecurityContext", "podSecurityContext: {runAsUser: null, runAsGroup: null}", deployment, "spec/template/spec/securityContext", "{runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}"},
		{"serviceAccount.annotations", "serviceAccount: {annotations: {a: b}}", "ServiceAccount olm-webhook-manager/olm-webhook-manager", "metadata/annotations", "{a: b}"},
		{"podAnnotations", "podAnnotations: {a: b}", deployment, "spec/template/metadata/annotations", "{a: b}"},
		{"podLabels", "podLabels: {a: b}", deployment, "spec/template/metadata/labels", "{app.kubernetes.io/name: olm-webhook-manager, a: b}"},
		{"nodeSelector", "nodeSelector: {kubernetes.io/arch: amd64}", deployment, "spec/template/spec/nodeSelector", "{kubernetes.io/arch: amd64}"},
		{"tolerations", "tolerations: [{operator: Exists}]", deployment, "spec/template/spec/tolerations", "[{operator: Exists}]"},
		{"affinity", "affinity: null", deployment, "spec/template/spec/affinity", ""},
		{"affinity", "affinity: {podAntiAffinity: null, nodeAffinity: {a: b}}", deployment, "spec/template/spec/affinity", "{nodeAffinity: {a: b}}"},
		{"topologySpreadConstraints", "topologySpreadConstraints: []", deployment, "spec/template/spec/topologySpreadConstraints", ""},
		{"topologySpreadConstraints", "topologySpreadConstraints: [{maxSkew: 2}]", deployment, "spec/template/spec/topologySpreadConstraints", "[{maxSkew: 2}]"},
		{"priorityClassName", "priorityClassName: system-cluster-critical", deployment, "spec/template/spec/priorityClassName", "system-cluster-critical"},
		{"global", "global: {of: another chart}", deployment, "spec/replicas", "2"}, // A chart that depends on this one passes it.
	}
	keys := leaves(load(t).Values, "")
	for _, test := range tests {
		t.Run(strings.ReplaceAll(test.values, "\n", ", "), func(t *testing.T) {
			var want any
			if err := yaml.Unmarshal([]byte(test.want), &want); err != nil {
				t.Fatal(err)
			}
			got := at(rendered(t, test.values)[test.object], test.path)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s of %s (-want +got):\n%s", test.path, test.object, diff)
			}
		})
		for key := range keys {
			if key == test.key || strings.HasPrefix(key, test.key+".") {
				delete(keys, key)
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		t.Errorf("no row of this test sets the value %s", key)
	}
}

// at returns the field of an object, or nil.
func at(object any, path string) any {
	for step := range strings.SplitSeq(path, "/") {
		switch value := object.(type) {
		case map[string]any:
			object = value[step]
		case []any:
			index, err := strconv.Atoi(step)
			if err != nil || index >= len(value) {
				return nil
			}
			object = value[index]
		default:
			return nil
		}
	}
	return object
}

// leaves returns the paths of the values that are not maps, or empty maps.
func leaves(values map[string]any, prefix string) map[string]bool {
	all := map[string]bool{}
	for key, value := range values {
		if nested, isMap := value.(map[string]any); isMap && len(nested) > 0 {
			maps.Copy(all, leaves(nested, prefix+key+"."))
			continue
		}
		all[prefix+key] = true
	}
	return all
}

func TestRefusedValues(t *testing.T) {
	for values, want := range map[string]string{
		"crds: {olm: 'no'}":                          "'/crds/olm'",
		"image: {tag: 'a b'}":                        "'/image/tag'",
		"image: {digest: sha256:12}":                 "'/image/digest'",
		"image: {pullPolicy: Sometimes}":             "'/image/pullPolicy'",
		"imagePullSecrets: [registry]":               "'/imagePullSecrets/0'",
		"replicas: '2'":                              "'/replicas'",
		"replicas: -1":                               "'/replicas'",
		"namespaces: shop":                           "'/namespaces'",
		"namespaces: ['shop,stock']":                 "'/namespaces/0'",
		"namespaces: [shop, shop]":                   "'/namespaces'",
		"namespaces: [kube-system]":                  "namespaces contains kube-system",
		"namespaces: [" + managerNamespace + "]":     "namespaces contains " + managerNamespace,
		"liftRoles: [shop]":                          "'/liftRoles'",
		"{withOLM: true, namespaces: [shop]}":        "withOLM needs all namespaces",
		"withOLM: 1":                                 "'/withOLM'",
		"extraArgs: [--with-olm]":                    "'/extraArgs/0'",
		"extraArgs: [--metrics-tls-cert-file=/a]":    "'/extraArgs/0'",
		"podSecurityContext: []":                     "'/podSecurityContext'",
		"monitoring: {tlsSecretName: a b}":           "'/monitoring/tlsSecretName'",
		"monitoring: {tlsConfig: []}":                "'/monitoring/tlsConfig'",
		"logLevel: trace":                            "'/logLevel'",
		"logFormat: xml":                             "'/logFormat'",
		"extraArgs: {settle: 1s}":                    "'/extraArgs'",
		"extraArgs: [settle=1s]":                     "'/extraArgs/0'",
		"extraArgs: [--namespaces=shop]":             "'/extraArgs/0'",
		"extraArgs: [--lift-roles]":                  "'/extraArgs/0'",
		"resources: {requests: [1]}":                 "'/resources/requests'",
		"podLabels: {app.kubernetes.io/name: other}": "'/podLabels'",
		"podLabels: {a: 1}":                          "'/podLabels/a'",
		"podAnnotations: []":                         "'/podAnnotations'",
		"tolerations: {operator: Exists}":            "'/tolerations'",
		"affinity: {nodeAffinity: []}":               "'/affinity/nodeAffinity'",
		"topologySpreadConstraints: {maxSkew: 1}":    "'/topologySpreadConstraints'",
		"priorityClassName: 1":                       "'/priorityClassName'",
		"monitoring: {enabled: 1}":                   "'/monitoring/enabled'",
		"monitoring: {labels: [release]}":            "'/monitoring/labels'",
		"serviceAccount: {annotations: {a: {b: c}}}": "'/serviceAccount/annotations/a'",
		"networkPolicy: true":                        "'/networkPolicy'",
		"podDisruptionBudget: {enabled: yes please}": "'/podDisruptionBudget/enabled'",
		"nodeSelector: {a: true}":                    "'/nodeSelector/a'",
	} {
		t.Run(values, func(t *testing.T) {
			if _, err := render(t, values); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("the error is %v, want one about %s", err, want)
			}
		})
	}
}

// The Lease and delegated authentication need different Roles of one name.
func TestListOfNamespacesInKubeSystem(t *testing.T) {
	const want = "with namespaces, the release cannot be in kube-system"
	if _, err := renderIn(t, "kube-system", "namespaces: [shop]"); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("the error is %v, want %s", err, want)
	}
	if _, err := renderIn(t, "kube-system", ""); err != nil {
		t.Error(err)
	}
}

// TestMisspelledValues adds an unknown key to each object whose keys are the chart's.
func TestMisspelledValues(t *testing.T) {
	var schema map[string]any
	if err := yaml.Unmarshal(load(t).Schema, &schema); err != nil {
		t.Fatal(err)
	}
	paths := closed(schema, nil)
	if len(paths) < 9 {
		t.Errorf("only %q are closed", paths)
	}
	for _, path := range paths {
		values := "misspelled: 1"
		for _, key := range slices.Backward(path) {
			values = fmt.Sprintf("%s: {%s}", key, values)
		}
		t.Run(values, func(t *testing.T) {
			if _, err := render(t, values); err == nil || !strings.Contains(err.Error(), "'misspelled'") {
				t.Errorf("the error is %v, want one about the key", err)
			}
		})
	}
}

// closed returns the paths of the objects in the schema that list their keys.
func closed(schema map[string]any, path []string) (paths [][]string) {
	properties, _ := schema["properties"].(map[string]any)
	if len(properties) > 0 {
		paths = append(paths, path)
	}
	for key, value := range properties {
		if nested, isMap := value.(map[string]any); isMap {
			paths = append(paths, closed(nested, append(slices.Clone(path), key))...)
		}
	}
	return paths
}
