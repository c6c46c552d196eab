package convert

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/unicode"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle/lint"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/output"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

var update = flag.Bool("update", false, "write testdata/*.out")

// The bundles of typical inputs are as expected, and bundle validate finds no error in them.
func TestConvert(t *testing.T) {
	for _, input := range installtest.OrPanic(filepath.Glob("testdata/*.yaml")) {
		name := strings.TrimSuffix(filepath.Base(input), ".yaml")
		t.Run(name, func(t *testing.T) {
			objects, read, err := Read(map[string][]byte{name: installtest.OrPanic(os.ReadFile(input))})
			installtest.Must(t, err)
			installtest.None(t, "findings of the reader", read)
			result := installtest.OrPanic(Convert(objects, Options{Name: name, Version: "1.2.0", Channel: "stable"}))
			got := textOf(result)
			if *update {
				installtest.Must(t, os.WriteFile("testdata/"+name+".out", []byte(got), 0o600))
			}
			installtest.Same(t, "result", string(installtest.OrPanic(os.ReadFile("testdata/"+name+".out"))), got)
			for _, f := range lint.Run(bundleOf(result)).Findings {
				if f.Level == lint.Error {
					t.Errorf("bundle validate: %+v", f)
				}
			}
		})
	}
}

// textOf returns all files, and the findings as the command prints them.
func textOf(r Result) string {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(r.Files)) {
		fmt.Fprintf(&text, "=== %s\n%s", name, r.Files[name])
	}
	text.WriteString("=== findings\n")
	for _, f := range r.Findings {
		f.Print(output.New(&text))
	}
	fmt.Fprintln(&text, r.Summary())
	return text.String()
}

func bundleOf(r Result) *bundle.Bundle {
	files := fstest.MapFS{}
	for name, text := range r.Files {
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return bundle.InspectFS(files, "converted")
}

const (
	shop = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: shop, namespace: shops}, spec: {selector: {matchLabels: {app: shop}}, template: {metadata: {labels: {app: shop}}, spec: {
  serviceAccountName: shop,
  containers: [{name: shop, image: "shop:1", ports: [{name: hooks, containerPort: 9443}], volumeMounts: [{name: certs, mountPath: /tmp/k8s-webhook-server/serving-certs}]}],
  volumes: [{name: certs, secret: {secretName: certs}}]}}}}`
	service = `{apiVersion: v1, kind: Service, metadata: {name: hooks, namespace: shops}, spec: {selector: {app: shop}, ports: [{port: 443, targetPort: hooks}]}}`
)

func webhookWith(fields string) string {
	return `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: shop}, webhooks: [
  {name: a.shop.example.com, sideEffects: None, admissionReviewVersions: [v1], clientConfig: {service: {namespace: shops, name: hooks}}, ` + fields + `}]}`
}

var webhook = webhookWith("rules: [{apiGroups: [apps], apiVersions: [v1], resources: [deployments], operations: [CREATE]}]")

// with returns an input of several objects.
func with(objects ...string) string { return strings.Join(objects, "\n---\n") }

func mounting(mounts, volumes string) string {
	text := strings.ReplaceAll(shop, "[{name: certs, mountPath: /tmp/k8s-webhook-server/serving-certs}]", mounts)
	return strings.ReplaceAll(text, "[{name: certs, secret: {secretName: certs}}]", volumes)
}

func binding(kind, namespace, role, subjects string) string {
	return `{apiVersion: rbac.authorization.k8s.io/v1, kind: ` + kind + `, metadata: {name: bind` + namespace + `, namespace: "` + namespace + `"}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ` + role + `, name: read}, subjects: ` + subjects + `}`
}

const (
	account     = `{kind: ServiceAccount, name: shop, namespace: shops}`
	clusterRole = `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: read}, rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]}`
	certificate = `{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {name: certs, namespace: shops}, spec: {secretName: certs, dnsNames: [hooks.shops.svc], issuerRef: {name: own}}}`
	issuer      = `{apiVersion: cert-manager.io/v1, kind: Issuer, metadata: {name: own, namespace: shops}, spec: {selfSigned: {}}}`
	example     = `{apiVersion: shop.example.com/v1, kind: Cart, metadata: {name: cart, namespace: shops}, spec: {}}`
)

func definition(conversion string) string {
	return `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: carts.shop.example.com}, spec: {group: shop.example.com, scope: Namespaced, names: {kind: Cart, plural: carts},
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}, {name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}], conversion: ` + conversion + `}}`
}

// in returns objects of the namespace shops in another namespace, with another name in place of shop.
func in(namespace, name string, objects ...string) string {
	return strings.NewReplacer("name: shop,", "name: "+name+",", "serviceAccountName: shop", "serviceAccountName: "+name, "namespace: shops", "namespace: "+namespace,
		`namespace: "shops"`, `namespace: "`+namespace+`"`, "bindshops", "bind"+namespace, "hooks.shops", "hooks."+namespace).Replace(with(objects...))
}

func role(namespace, resource string) string {
	return `{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: read, namespace: "` + namespace + `"}, rules: [{apiGroups: [""], resources: [` + resource + `], verbs: [get]}]}`
}

const twoNamespaces = "warning Deployment b/op-b metadata.namespace"

// Each case has the findings, as "level object path", and texts that the files have or lack.
func TestFindings(t *testing.T) {
	for name, test := range map[string]struct {
		input       string
		want        []string
		contains    []string
		notContains []string
	}{
		"a webhook": {with(shop, service, webhook), nil, []string{"targetPort: 9443", "deploymentName: shop", "generateName: a.shop.example.com", "rules: []\n        serviceAccountName: shop"}, []string{"volume", "hooks.yaml"}},
		"a URL": {with(shop, service, strings.Replace(webhook, "{service: {namespace: shops, name: hooks}}", "{url: 'https://shop.example.com'}", 1)),
			[]string{"error ValidatingWebhookConfiguration shop webhooks[0].clientConfig.url"}, nil, []string{"webhookdefinitions"}},
		"no Service":           {with(shop, webhook), []string{"error ValidatingWebhookConfiguration shop webhooks[0].clientConfig.service"}, nil, []string{"webhookdefinitions"}},
		"another port":         {with(shop, strings.Replace(service, "port: 443", "port: 444", 1), webhook), []string{"error ValidatingWebhookConfiguration shop webhooks[0].clientConfig.service.port"}, nil, nil},
		"a Service of others":  {with(shop, strings.Replace(service, "app: shop", "app: other", 1), webhook), []string{"error ValidatingWebhookConfiguration shop webhooks[0].clientConfig.service"}, nil, nil},
		"several Deployments":  {with(shop, strings.Replace(shop, "name: shop, namespace", "name: shop2, namespace", 1), service, webhook), []string{"error ValidatingWebhookConfiguration shop webhooks[0].clientConfig.service"}, nil, nil},
		"an unknown port name": {with(shop, strings.Replace(service, "targetPort: hooks", "targetPort: other", 1), webhook), nil, []string{"targetPort: other"}, nil},
		"a forbidden rule": {with(shop, service, webhookWith(`rules: [{apiGroups: ["*"], apiVersions: ["*"], resources: ["*"], operations: [CREATE]}]`)),
			[]string{"error ValidatingWebhookConfiguration shop webhooks[0].rules[0]"}, []string{"generateName: a.shop.example.com"}, nil},
		"a namespaceSelector": {with(shop, service, webhookWith("namespaceSelector: {matchLabels: {shop: 'true'}}")), []string{"warning ValidatingWebhookConfiguration shop webhooks[0].namespaceSelector"}, nil, []string{"namespaceSelector"}},
		"empty selectors":     {with(shop, service, webhookWith("namespaceSelector: {}, objectSelector: {}")), nil, nil, []string{"Selector"}},
		"matchConditions": {with(shop, service, webhookWith("matchConditions: [{name: a, expression: 'a && b'}]")), []string{"note ValidatingWebhookConfiguration shop webhooks[0].matchConditions"},
			[]string{"olm-webhook-manager.io/match-conditions: |\n      a.shop.example.com:\n      - expression: a && b\n        name: a\n"}, nil},
		"a caBundle":    {with(shop, service, strings.Replace(webhook, "clientConfig: {", "clientConfig: {caBundle: YQ==, ", 1)), []string{"note ValidatingWebhookConfiguration shop webhooks[*].clientConfig.caBundle"}, nil, []string{"caBundle"}},
		"a placeholder": {with(shop, service, strings.Replace(webhook, "clientConfig: {", "clientConfig: {caBundle: Cg==, ", 1)), nil, nil, []string{"caBundle"}},
		"one name twice": {with(shop, service, webhook, strings.Replace(strings.Replace(webhook, "Validating", "Mutating", 1), "{name: shop}", "{name: shop2}", 1)), []string{"warning MutatingWebhookConfiguration shop2 webhooks[0].name"},
			[]string{"generateName: a.shop.example.com", "generateName: a-2.shop.example.com", "type: MutatingAdmissionWebhook"}, nil},
		"two Services with one port": {with(shop, service, strings.NewReplacer("name: hooks", "name: hooks2", "targetPort: hooks", "targetPort: 9000").Replace(service), webhook,
			strings.NewReplacer("{name: shop}", "{name: shop2}", "a.shop", "b.shop", "name: hooks", "name: hooks2").Replace(webhook)), nil, []string{"containerPort: 443", "containerPort: 9000"}, nil},
		"labels of a webhook": {with(shop, service, strings.Replace(webhook, "{name: shop}", "{name: shop, labels: {admissions.enforcer/disabled: 'true', app.kubernetes.io/name: shop, helm.sh/chart: shop-1}, annotations: {skip-admission: 'true', service.beta.openshift.io/inject-cabundle: 'true', meta.helm.sh/release-name: shop}}", 1)),
			[]string{"warning ValidatingWebhookConfiguration shop metadata.labels", "warning ValidatingWebhookConfiguration shop metadata.annotations"}, nil, []string{"skip-admission"}},
		"annotations of a Service":    {with(shop, strings.Replace(service, "namespace: shops}", "namespace: shops, annotations: {prometheus.io/scrape: 'true'}}", 1), webhook), []string{"warning Service shops/hooks metadata.annotations"}, nil, nil},
		"a certificate of service-ca": {with(shop, strings.Replace(service, "namespace: shops}", "namespace: shops, annotations: {service.beta.openshift.io/serving-cert-secret-name: certs}}", 1), webhook), nil, nil, nil},
		"a path with a query":         {with(shop, service, strings.Replace(webhook, "name: hooks}", "name: hooks, path: '/m?x=1'}", 1)), []string{"error ValidatingWebhookConfiguration shop webhooks[0].clientConfig.service.path"}, []string{"webhookPath: /m?x=1"}, nil},
		"a conversion's path with a query": {with(shop, service, definition("{strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {service: {namespace: shops, name: hooks, path: '/c?x=1'}}}}")),
			[]string{"error CustomResourceDefinition carts.shop.example.com spec.conversion.webhook.clientConfig.service.path"}, []string{"webhookPath: /c?x=1"}, nil},
		"an old webhook": {with(shop, service, strings.Replace(webhook, "k8s.io/v1,", "k8s.io/v1beta1,", 1)), []string{"error ValidatingWebhookConfiguration shop apiVersion"}, nil, nil},

		"a conversion": {with(shop, service, definition("{strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {service: {namespace: shops, name: hooks, path: /convert}}}}")), nil,
			[]string{"type: ConversionWebhook", "conversionCRDs:\n    - carts.shop.example.com", "webhookPath: /convert"}, []string{"conversion:"}},
		"a conversion by URL":    {with(shop, definition("{strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {url: 'https://shop.example.com'}}}")), []string{"error CustomResourceDefinition carts.shop.example.com spec.conversion.webhook.clientConfig"}, []string{"conversion:"}, []string{"webhookdefinitions"}},
		"a kind without webhook": {with(shop, definition("{strategy: None}"), example), []string{"note Cart shops/cart kind"}, []string{"version: v2", "\"kind\": \"Cart\"", "supported: true\n    type: OwnNamespace"}, []string{"conversion:", "cart_shop"}},
		"a kind of others":       {with(shop, example), []string{"warning Cart shops/cart kind"}, nil, []string{"Cart"}},

		"a certificate":           {with(shop, service, webhook, certificate, issuer), nil, nil, []string{"volume", "cert-manager"}},
		"a certificate with more": {with(shop, service, webhook, strings.Replace(certificate, "hooks.shops.svc]", "hooks.shops.svc, shop.example.com], duration: 24h, keystores: {jks: {create: true}}", 1), issuer), []string{"warning Certificate shops/certs spec.keystores", "note Certificate shops/certs spec.dnsNames", "note Certificate shops/certs spec.duration"}, nil, nil},
		"another certificate":     {with(shop, certificate, issuer), []string{"warning Certificate shops/certs spec.secretName", "warning Issuer shops/own kind"}, []string{"secretName: certs"}, nil},
		"a certificate of metrics": {with(mounting("[{name: certs, mountPath: /tmp/k8s-webhook-server/serving-certs}, {name: metrics, mountPath: /metrics}]", "[{name: certs, secret: {secretName: certs}}, {name: metrics, secret: {secretName: metrics}}]"),
			service, webhook, certificate, issuer, strings.NewReplacer("name: certs", "name: metrics", "secretName: certs", "secretName: metrics", "hooks.shops.svc", "hooks-metrics.shops.svc").Replace(certificate)),
			[]string{"warning Certificate shops/metrics spec.secretName"}, []string{"secretName: metrics", "mountPath: /metrics"}, []string{"secretName: certs", "serving-certs"}},
		"an issuer with a server": {with(shop, service, webhook, certificate, strings.Replace(issuer, "selfSigned", "vault", 1)), []string{"note Issuer shops/own spec"}, nil, nil},
		"another path":            {with(mounting("[{name: certs, mountPath: /certs}]", "[{name: certs, secret: {secretName: certs}}]"), service, webhook, certificate, issuer), []string{"warning Deployment shops/shop spec.template.spec.volumes[0]"}, []string{"secretName: shop-service-cert"}, nil},
		"another path and the manager's Service name": {with(mounting("[{name: certs, mountPath: /certs}]", "[{name: certs, secret: {secretName: certs}}]"),
			strings.Replace(strings.Replace(service, "name: hooks, namespace", "name: shop-service, namespace", 1), "ports: [", "ports: [{port: 8080, name: metrics}, ", 1), strings.Replace(webhook, "name: hooks", "name: shop-service", 1), strings.Replace(certificate, "hooks.", "shop-service.", 1), issuer),
			[]string{"error Deployment shops/shop spec.template.spec.volumes[0]", "note Service shops/shop-service spec.ports"}, []string{"name: shop-service\n", "secretName: shop-service-cert"}, nil},
		"another path and another object of that name": {with(mounting("[{name: certs, mountPath: /certs}]", "[{name: certs, secret: {secretName: certs}}]"), service, webhook, certificate, issuer, "{apiVersion: v1, kind: ConfigMap, metadata: {name: shop-service, namespace: shops}}"),
			[]string{"warning Deployment shops/shop spec.template.spec.volumes[0]"}, []string{"secretName: shop-service-cert"}, nil},
		"other keys":                   {with(mounting("[{name: certs, mountPath: /certs}]", "[{name: certs, secret: {secretName: certs, items: [{key: a, path: b}]}}]"), service, webhook, certificate, issuer), []string{"error Deployment shops/shop spec.template.spec.volumes[0].secret.items[0].key", "warning Deployment shops/shop spec.template.spec.volumes[0]"}, nil, nil},
		"other files":                  {with(mounting("[{name: certs, mountPath: /tmp/k8s-webhook-server/serving-certs/}]", "[{name: certs, secret: {secretName: certs, items: [{key: tls.crt, path: cert.pem}]}}]"), service, webhook), []string{"error Deployment shops/shop spec.template.spec.volumes[0].secret.items[0].path"}, nil, []string{"volumes:"}},
		"a certificate in a variable":  {with(strings.Replace(shop, "image:", "env: [{name: A, valueFrom: {secretKeyRef: {name: certs, key: tls.crt}}}], image:", 1), service, webhook, certificate, issuer), []string{"warning Deployment shops/shop spec.template.spec.containers[0].env[0]"}, nil, nil},
		"no certificate":               {with(mounting("[]", "[]"), service, webhook), []string{"warning Deployment shops/shop spec.template.spec.volumes"}, nil, nil},
		"a volume that is not mounted": {with(mounting("[]", "[null, {name: certs, secret: {secretName: certs}}]"), service, webhook, certificate, issuer), []string{"warning Deployment shops/shop spec.template.spec.volumes"}, nil, []string{"secretName"}},
		"a Secret with a certificate":  {with(shop, service, webhook, "{apiVersion: v1, kind: Secret, metadata: {name: certs, namespace: shops}, type: kubernetes.io/tls, data: {tls.key: YQ==}}"), []string{"note Secret shops/certs data"}, nil, []string{"tls.key"}},
		"a Secret":                     {with(shop, "{apiVersion: v1, kind: Secret, metadata: {name: password, namespace: shops}, stringData: {a: b}}"), []string{"warning Secret shops/password data"}, []string{"kind: Secret"}, nil},

		"a role":                 {with(shop, clusterRole, binding("ClusterRoleBinding", "", "ClusterRole", "["+account+"]")), []string{"note ClusterServiceVersion shop.v1.0.0 spec.installModes"}, []string{"clusterPermissions:\n      - rules:"}, []string{"kind: ClusterRole"}},
		"a role in a namespace":  {with(shop, clusterRole, binding("RoleBinding", "shops", "ClusterRole", "["+account+"]")), []string{"note ClusterServiceVersion shop.v1.0.0 spec.install.spec.permissions"}, []string{"      permissions:\n      - rules:\n        - apiGroups"}, []string{"kind: ClusterRole"}},
		"a role also for others": {with(shop, clusterRole, binding("ClusterRoleBinding", "", "ClusterRole", "["+account+", {kind: Group, apiGroup: rbac.authorization.k8s.io, name: staff}]")), []string{"note ClusterServiceVersion shop.v1.0.0 spec.installModes"}, []string{"clusterPermissions", "kind: ClusterRole\n", "name: staff"}, []string{"\n  namespace: shops"}},
		"a role for the accounts of a namespace": {with(shop, clusterRole, binding("ClusterRoleBinding", "", "ClusterRole", "["+account+", {kind: Group, apiGroup: rbac.authorization.k8s.io, name: 'system:serviceaccounts:shops'}]")),
			[]string{"warning ClusterRoleBinding bind subjects[1].name", "note ClusterServiceVersion shop.v1.0.0 spec.installModes"}, []string{"name: system:serviceaccounts:shops"}, nil},
		"a role for an account as a user": {with(shop, clusterRole, binding("ClusterRoleBinding", "", "ClusterRole", "[{kind: User, apiGroup: rbac.authorization.k8s.io, name: 'system:serviceaccount:shops:shop'}]")),
			[]string{"warning ClusterRoleBinding bind subjects[0].name"}, []string{"name: system:serviceaccount:shops:shop"}, []string{"clusterPermissions"}},
		"a role for the accounts of others": {with(shop, clusterRole, binding("ClusterRoleBinding", "", "ClusterRole", "[{kind: Group, apiGroup: rbac.authorization.k8s.io, name: 'system:serviceaccounts:shops-of-others'}, {kind: User, apiGroup: rbac.authorization.k8s.io, name: 'system:serviceaccount:other:shop'}]")), nil, nil, nil},
		"a role of the cluster":             {with(shop, binding("ClusterRoleBinding", "", "ClusterRole", "["+account+"]")), []string{"warning ClusterRoleBinding bind roleRef"}, []string{"kind: ClusterRoleBinding", "- kind: ServiceAccount\n  name: shop\n"}, []string{"clusterPermissions"}},
		"an aggregated role":                {with(shop, strings.Replace(clusterRole, "rules:", "aggregationRule: {clusterRoleSelectors: [{matchLabels: {a: b}}]}, rules:", 1), binding("ClusterRoleBinding", "", "ClusterRole", "["+account+"]")), []string{"warning ClusterRoleBinding bind roleRef"}, []string{"kind: ClusterRoleBinding", "aggregationRule"}, nil},
		"a role that adds to others": {with(shop, strings.Replace(clusterRole, "{name: read}", "{name: read, labels: {rbac.authorization.k8s.io/aggregate-to-view: 'true'}}", 1), binding("ClusterRoleBinding", "", "ClusterRole", "["+account+"]")),
			[]string{"note ClusterServiceVersion shop.v1.0.0 spec.installModes"}, []string{"kind: ClusterRole\n", "clusterPermissions"}, nil},
		"a binding elsewhere": {with(shop, binding("RoleBinding", "kube-system", "Role", "["+account+"]")), []string{"error RoleBinding kube-system/bindkube-system metadata.namespace"}, nil, []string{"RoleBinding"}},
		"roles whose names differ in case": {with(shop, strings.Replace(clusterRole, "{name: read}", "{name: Viewer}", 1), strings.Replace(clusterRole, "{name: read}", "{name: viewer}", 1)), nil,
			[]string{"=== manifests/Viewer_rbac.authorization.k8s.io_v1_clusterrole.yaml", "=== manifests/viewer_rbac.authorization.k8s.io_v1_clusterrole_2.yaml"}, nil},
		"an unbound role": {with(shop, clusterRole), nil, []string{"kind: ClusterRole\n"}, nil},
		"its own webhooks": {with(shop, service, webhook, strings.Replace(strings.Replace(clusterRole, `""`, "admissionregistration.k8s.io", 1), "[pods], verbs: [get]", "[validatingwebhookconfigurations], verbs: [patch]", 1), binding("ClusterRoleBinding", "", "ClusterRole", "["+account+"]")),
			[]string{"warning ClusterRole read rules[0]", "note ClusterServiceVersion shop.v1.0.0 spec.installModes"}, nil, nil},
		"an account": {with(shop, "{apiVersion: v1, kind: ServiceAccount, metadata: {name: shop, namespace: shops}}"), nil, nil, []string{"kind: ServiceAccount"}},
		"an account with fields": {with(shop, "{apiVersion: v1, kind: ServiceAccount, metadata: {name: shop, namespace: shops, annotations: {a: b}}, imagePullSecrets: [{name: c}], automountServiceAccountToken: false}"),
			[]string{"warning ServiceAccount shops/shop metadata.annotations[a]"}, nil, []string{"kind: ServiceAccount"}},
		"another account": {with(shop, "{apiVersion: v1, kind: ServiceAccount, metadata: {name: other, namespace: shops}}"), nil, []string{"kind: ServiceAccount"}, []string{"\n  namespace: shops"}},

		"a role of each namespace": {with(in("a", "op-a", shop), in("b", "op-b", shop), role("a", "secrets"), role("b", "configmaps"), in("b", "op-b", binding("RoleBinding", "shops", "Role", "["+account+"]"))),
			[]string{twoNamespaces, "note ClusterServiceVersion shop.v1.0.0 spec.install.spec.permissions"},
			[]string{"          - configmaps\n          verbs:\n          - get\n        serviceAccountName: op-b", "rules: []\n        serviceAccountName: op-a", "=== manifests/read_rbac.authorization.k8s.io_v1_role.yaml"}, nil},
		"a role of an unknown namespace": {with(in("a", "op-a", shop), in("b", "op-b", shop), role("a", "secrets"), role("b", "configmaps"), in("b", "op-b", binding("RoleBinding", "", "Role", "["+account+"]"))),
			[]string{"error RoleBinding bind roleRef", "error Role b/read metadata.name", twoNamespaces}, nil, []string{"RoleBinding"}},
		"a role of another namespace": {with(in("a", "op-a", shop), in("b", "op-b", shop), role("a", "secrets"), in("b", "op-b", binding("RoleBinding", "shops", "Role", "["+account+"]"))),
			[]string{twoNamespaces, "warning RoleBinding b/bindb roleRef"}, []string{"rules: []\n        serviceAccountName: op-b"}, nil},
		"an account of another namespace": {with(in("a", "op-a", shop), in("b", "op-b", shop), clusterRole, binding("ClusterRoleBinding", "", "ClusterRole", "[{kind: ServiceAccount, name: op-b, namespace: a}]")),
			[]string{twoNamespaces}, []string{"name: op-b\n  namespace: a\n"}, []string{"clusterPermissions"}},
		"an account of two namespaces": {with(in("a", "op-a", strings.Replace(shop, "serviceAccountName: shop", "serviceAccountName: ctrl", 1)), in("b", "op-b", strings.Replace(shop, "serviceAccountName: shop", "serviceAccountName: ctrl", 1)), clusterRole,
			binding("ClusterRoleBinding", "", "ClusterRole", "[{kind: ServiceAccount, name: ctrl, namespace: a}]")),
			[]string{"error Deployment b/op-b spec.template.spec.serviceAccountName", twoNamespaces}, []string{"serviceAccountName: ctrl"}, nil},
		"an object of the operator's account's name": {with(shop, "{apiVersion: v1, kind: ServiceAccount, metadata: {name: shop, namespace: monitoring}}"), []string{"error ServiceAccount monitoring/shop metadata.name"}, nil, []string{"kind: ServiceAccount"}},
		"a Service of each namespace": {with(in("a", "op-a", shop, service), in("b", "op-b", shop, service, webhook)), []string{twoNamespaces},
			[]string{"deploymentName: op-b", "=== manifests/hooks_v1_service.yaml"}, []string{"deploymentName: op-a", "hooks_v1_service_2"}},
		"a Service of an unknown namespace": {with(in("a", "op-a", shop, service), in("b", "op-b", shop, service), strings.Replace(webhook, "namespace: shops", `namespace: ""`, 1)),
			[]string{"error ValidatingWebhookConfiguration shop webhooks[0].clientConfig.service", "error Service b/hooks metadata.name", twoNamespaces}, nil, []string{"webhookdefinitions"}},
		"a certificate of each namespace": {with(in("a", "op-a", shop, service, certificate), in("b", "op-b", shop, service, webhook, certificate, issuer)), []string{twoNamespaces, "warning Certificate a/certs spec.secretName"},
			[]string{"deploymentName: op-b", "secretName: certs"}, nil},
		"two Deployments of one name": {with(in("a", "ctrl", shop), in("b", "ctrl", shop)), []string{"error Deployment b/ctrl metadata.name", "warning Deployment b/ctrl metadata.namespace"}, nil, nil},
		"two ConfigMaps of one name": {with(shop, "{apiVersion: v1, kind: ConfigMap, metadata: {name: cfg, namespace: shops}}", "{apiVersion: v1, kind: ConfigMap, metadata: {name: cfg, namespace: monitoring}}"),
			[]string{"error ConfigMap monitoring/cfg metadata.name", "warning ConfigMap monitoring/cfg metadata.namespace"}, nil, nil},
		"an old Deployment":        {with(shop, strings.NewReplacer("apps/v1", "extensions/v1beta1", "name: shop,", "name: old,").Replace(shop)), []string{"error Deployment shops/old apiVersion"}, nil, []string{"name: old"}},
		"a Deployment of beta":     {with(shop, strings.NewReplacer("apps/v1", "apps/v1beta2", "name: shop,", "name: old,").Replace(shop)), []string{"error Deployment shops/old apiVersion"}, nil, []string{"name: old"}},
		"an old DaemonSet":         {with(shop, "{apiVersion: extensions/v1beta1, kind: DaemonSet, metadata: {name: a}}"), []string{"error DaemonSet a kind"}, nil, nil},
		"pods of another operator": {with(shop, "{apiVersion: apps.openshift.io/v1, kind: DeploymentConfig, metadata: {name: a}, spec: {template: {spec: {containers: [{name: a}]}}}}"), []string{"error DeploymentConfig a kind"}, nil, nil},

		"annotations":          {strings.Replace(shop, "namespace: shops}", "namespace: shops, annotations: {a: b, meta.helm.sh/release-name: c}}", 1), []string{"warning Deployment shops/shop metadata.annotations"}, nil, nil},
		"a namespace in a pod": {strings.Replace(shop, "image:", "args: [--leader-election-namespace=shops], image:", 1), []string{"note Deployment shops/shop spec.template.spec.containers[0].args[0]"}, nil, nil},
		"a DNS name":           {strings.Replace(shop, "image:", "args: ['--url=https://hooks.shops.svc:443'], image:", 1), []string{"note Deployment shops/shop spec.template.spec.containers[0].args[0]"}, nil, nil},
		"a variable":           {strings.Replace(shop, "image:", "env: [{name: WATCH_NAMESPACE, value: shops}], image:", 1), []string{"note Deployment shops/shop spec.template.spec.containers[0].env[0].value"}, nil, nil},
		"its own namespace":    {strings.Replace(shop, "image:", "env: [{name: WATCH_NAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}], image:", 1), []string{"warning Deployment shops/shop spec.template.spec.containers[0].env[0].valueFrom"}, nil, nil},
		"a longer name":        {strings.Replace(shop, "image:", "args: [--namespace=shops-of-others], image:", 1), nil, nil, nil},
		"the same name":        {strings.Replace(shop, "image:", "args: [--label=shops], image:", 1), nil, nil, nil},
		"a Namespace":          {with(shop, "{apiVersion: v1, kind: Namespace, metadata: {name: shops, labels: {a: b}}}"), nil, []string{"suggested-namespace-template", `"a": "b"`}, nil},
		"another Namespace":    {with(shop, "{apiVersion: v1, kind: Namespace, metadata: {name: other}}"), []string{"warning Namespace other kind"}, []string{"suggested-namespace: shops"}, nil},
		"another namespace":    {with(shop, "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: monitoring}}"), []string{"warning ConfigMap monitoring/a metadata.namespace"}, []string{"kind: ConfigMap"}, []string{"namespace: monitoring"}},
		"two namespaces":       {with(shop, strings.Replace(shop, "name: shop, namespace: shops", "name: shop2, namespace: shops2", 1)), []string{"warning Deployment shops2/shop2 metadata.namespace"}, []string{"name: shop2"}, nil},
		"a StatefulSet":        {with(shop, "{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: a}}"), []string{"error StatefulSet a kind"}, nil, nil},
		"an APIService":        {with(shop, "{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: v1.shop}, spec: {groupPriorityMinimum: 1, versionPriority: 1}}"), []string{"error APIService v1.shop spec.service"}, nil, nil},
		"a bundle":             {with(shop, "{apiVersion: operators.coreos.com/v1alpha1, kind: ClusterServiceVersion, metadata: {name: a.v1}}"), []string{"error ClusterServiceVersion a.v1 kind"}, nil, nil},
		"another kind":         {with(shop, "{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: a}}"), []string{"warning Ingress a kind"}, nil, nil},
		"an old definition":    {with(shop, "{apiVersion: apiextensions.k8s.io/v1beta1, kind: CustomResourceDefinition, metadata: {name: a.b.c}}"), []string{"error CustomResourceDefinition a.b.c apiVersion"}, nil, nil},
		"a hostile name":       {with(shop, "{apiVersion: v1, kind: ConfigMap, metadata: {name: ../../a}}"), nil, []string{"=== manifests/a_v1_configmap.yaml"}, nil},
		"a List":               {"{apiVersion: v1, kind: List, items: [" + shop + ", " + service + ", " + webhook + "]}", nil, []string{"generateName: a.shop.example.com"}, nil},
		"a metrics port":       {with(shop, strings.Replace(service, "ports: [", "ports: [{port: 8080, name: metrics}, ", 1), webhook), []string{"note Service shops/hooks spec.ports"}, []string{"port: 8080"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			objects, read, err := Read(map[string][]byte{"all.yaml": []byte(test.input)})
			installtest.Must(t, err)
			installtest.None(t, "findings of the reader", read)
			result, err := Convert(objects, Options{Name: "shop", Version: "1.0.0", Channel: "stable"})
			installtest.Must(t, err)
			var got []string
			for _, f := range result.Findings {
				if f.Path != "spec.description" {
					got = append(got, string(f.Level)+" "+f.Object+" "+f.Path)
				}
			}
			if !slices.Contains(test.want, "note ClusterServiceVersion shop.v1.0.0 spec.installModes") {
				got = slices.DeleteFunc(got, func(f string) bool { return strings.HasSuffix(f, "spec.installModes") })
			}
			installtest.Same(t, "findings", test.want, got)
			text, _, _ := strings.Cut(textOf(result), "=== findings")
			installtest.Contains(t, text, test.contains...)
			for _, part := range test.notContains {
				if strings.Contains(text, part) {
					t.Errorf("%q is in\n%s", part, text)
				}
			}
			csv := bundleOf(result).CSV
			if csv == nil || csv.Name != "shop.v1.0.0" || len(csv.Spec.InstallModes) != 4 {
				t.Errorf("the ClusterServiceVersion is %+v, problems: %v", csv, bundleOf(result).Problems)
			}
		})
	}
}

func TestRefusedInput(t *testing.T) {
	for name, test := range map[string]struct{ input, says string }{
		"no Deployment":         {service, "the input has no Deployment"},
		"nothing":               {"", "the input has no Deployment"},
		"broken YAML":           {"a: [", "all.yaml:1: "},
		"no object":             {"- a", "is no Kubernetes object"},
		"a template":            {"apiVersion: v1\nkind: ConfigMap\n{{- if .Values.a }}\nmetadata: {name: a}\n{{- end }}", `all.yaml:3: the input has a template ("{{") that is not resolved: bundle convert reads rendered manifests`},
		"a template as a value": {"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Values.a }}\n", "all.yaml:4: the input has a template"},
		"a template as a name":  {"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: '{{ .Values.a }}'\n", `all.yaml:4: metadata.name "{{ .Values.a }}" has a template that is not resolved`},
		"a template as image":   {strings.Replace(shop, "shop:1", "{{ .Values.image }}", 1), `spec.template.spec.containers[0].image "{{ .Values.image }}"`},
		"a template as image of an init container": {strings.Replace(shop, "containers:", "initContainers: [{name: init, image: '{{ tpl }}:v1'}], containers:", 1), `spec.template.spec.initContainers[0].image "{{ tpl }}:v1"`},
		"an old Deployment":                        {strings.Replace(shop, "apps/v1", "extensions/v1beta1", 1), "all.yaml:1: Deployment shops/shop has apiVersion extensions/v1beta1, and a bundle has Deployments of apps/v1 only: write it with apiVersion apps/v1"},
		"a cluster role twice":                     {with(shop, clusterRole, strings.Replace(clusterRole, "{name: read}", "{name: read, namespace: shops}", 1)), "ClusterRole shops/read is in the input twice"},
		"an object twice":                          {with(shop, shop), "Deployment shops/shop is in the input twice"},
		"no separator":                             {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n", "all.yaml:4: two objects are in one document; write a line --- between them"},
		"too large":                                {"a: " + strings.Repeat("a", bundle.MaxSize), "the input has more than 8 MiB"},
		"too many values":                          {"a: [" + strings.Repeat("a,", 200000) + "]", "values in"},
		"an item of a list":                        {"{apiVersion: v1, kind: List, items: [a]}", "is a list with an item that is no Kubernetes object"},
		"a wrong type":                             {strings.Replace(shop, "spec: {", "spec: {replicas: many, ", 1), "spec.replicas"},
	} {
		t.Run(name, func(t *testing.T) {
			objects, _, err := Read(map[string][]byte{"all.yaml": []byte(test.input)})
			if err == nil {
				_, err = Convert(objects, Options{Name: "shop", Version: "1.0.0", Channel: "stable"})
			}
			installtest.Error(t, test.says, err)
		})
	}
}

// The message names the Service that has the name, and both ways to continue.
func TestManagersServiceNameTaken(t *testing.T) {
	input := with(mounting("[{name: certs, mountPath: /certs}]", "[{name: certs, secret: {secretName: certs}}]"), service, webhook, certificate, issuer,
		"{apiVersion: v1, kind: Service, metadata: {name: shop-service, namespace: shops}, spec: {ports: [{port: 8080}]}}")
	objects, _, err := Read(map[string][]byte{"all.yaml": []byte(input)})
	installtest.Must(t, err)
	result := installtest.OrPanic(Convert(objects, Options{Name: "shop", Version: "1.0.0", Channel: "stable"}))
	first := result.Findings[0]
	installtest.Same(t, "level", Error, first.Level)
	installtest.Contains(t, first.What, "The Service shop-service of the bundle", "no pod starts")
	installtest.Contains(t, first.Remedy, "let the server read tls.crt and tls.key in /tmp/k8s-webhook-server/serving-certs, and remove the volume", "rename the Service shop-service")
	found := lint.Run(bundleOf(result)).Findings
	if !slices.ContainsFunc(found, func(f lint.Finding) bool { return strings.Contains(f.What, "Secret shop-service-cert") }) {
		t.Errorf("bundle validate does not find the missing Secret: %+v", found)
	}
}

// Windows PowerShell 5 writes the output of a command in UTF-16, and editors of Windows write a byte order mark.
func TestEncodings(t *testing.T) {
	input := with(shop, service, webhook)
	want := textOf(installtest.OrPanic(Convert(installtest.OrPanic(readOnly(input)), Options{Name: "shop", Version: "1.0.0", Channel: "stable"})))
	for name, in := range map[string]encoding.Encoding{
		"UTF-16, little endian": unicode.UTF16(unicode.LittleEndian, unicode.UseBOM),
		"UTF-16, big endian":    unicode.UTF16(unicode.BigEndian, unicode.UseBOM),
		"UTF-8 with a mark":     unicode.UTF8BOM,
	} {
		t.Run(name, func(t *testing.T) {
			text := installtest.OrPanic(in.NewEncoder().String(strings.ReplaceAll(input, "\n", "\r\n")))
			objects, err := readOnly(text)
			installtest.Must(t, err)
			installtest.Same(t, "result", want, textOf(installtest.OrPanic(Convert(objects, Options{Name: "shop", Version: "1.0.0", Channel: "stable"}))))
			_, err = readOnly(installtest.OrPanic(in.NewEncoder().String("a: {{ .Values.a }}\n")))
			installtest.Error(t, "all.yaml:1: the input has a template", err)
		})
	}
}

func readOnly(text string) ([]*bundle.Object, error) {
	objects, _, err := Read(map[string][]byte{"all.yaml": []byte(text)})
	return objects, err
}

// An author passes the directory of the sources, in place of what kustomize builds from it.
func TestSourcesAsInput(t *testing.T) {
	for _, name := range []string{"config/default/kustomization.yaml", "kustomization.yml", "config/Kustomization"} {
		_, _, err := Read(map[string][]byte{name: []byte("resources: [../manager]\n"), "config/manager.yaml": []byte(shop)})
		installtest.Error(t, name+": the input is a source of kustomize: bundle convert reads rendered manifests: run helm template or kustomize build, and pass the output", err)
	}
}

func TestBundleAsInput(t *testing.T) {
	_, _, err := Read(map[string][]byte{
		"b/manifests/csv.yaml":        []byte("{apiVersion: operators.coreos.com/v1alpha1, kind: ClusterServiceVersion, metadata: {name: a.v1}}"),
		"b/metadata/annotations.yaml": []byte("annotations: {operators.operatorframework.io.bundle.package.v1: a}\n"),
	})
	installtest.Error(t, "b/metadata/annotations.yaml: the input is a bundle already", err)
}

// A finding for a kind that a bundle cannot have names the object, the effect and the steps.
func TestOtherKinds(t *testing.T) {
	object := func(api, kind, spec string) string {
		return "{apiVersion: " + api + ", kind: " + kind + ", metadata: {name: a}, spec: " + spec + "}"
	}
	for name, test := range map[string]struct {
		object       string
		what, remedy []string
	}{
		"a StatefulSet": {object("apps/v1", "StatefulSet", "{}"), []string{"the object is not in the bundle, and nothing runs its pods"},
			[]string{"write kind: Deployment, remove spec.serviceName and spec.volumeClaimTemplates", "or let the operator create the object"}},
		"a DaemonSet": {object("apps/v1", "DaemonSet", "{}"), []string{"the object is not in the bundle"}, []string{"on each node"}},
		"a Pod":       {object("v1", "Pod", "{}"), []string{"the object is not in the bundle"}, []string{"write the pods as a Deployment"}},
		"a Job":       {object("batch/v1", "Job", "{}"), []string{"the object is not in the bundle"}, []string{"let the operator do the work when it starts"}},
		"an APIService": {object("apiregistration.k8s.io/v1", "APIService", "{group: metrics.example.com, version: v1, service: {name: adapter, namespace: shops}}"),
			[]string{"the bundle lacks the API metrics.example.com/v1"},
			[]string{"{group: metrics.example.com, version: v1, kind: KIND, name: PLURAL, deploymentName: DEPLOYMENT, containerPort: PORT}", "the Service adapter"}},
		"an APIService without a Service": {object("apiregistration.k8s.io/v1", "APIService", "{group: shop.example.com, version: v1}"),
			[]string{"the APIService calls no Service"}, []string{"API servers create it"}},
	} {
		t.Run(name, func(t *testing.T) {
			objects, _, err := Read(map[string][]byte{"all.yaml": []byte(with(shop, test.object))})
			installtest.Must(t, err)
			first := installtest.OrPanic(Convert(objects, Options{Name: "shop", Version: "1.0.0", Channel: "stable"})).Findings[0]
			kind := strings.TrimPrefix(strings.TrimPrefix(name, "an "), "a ")
			installtest.Contains(t, first.Object, strings.TrimSuffix(kind, " without a Service")+" a")
			installtest.Same(t, "level", Error, first.Level)
			installtest.Contains(t, first.What, test.what...)
			installtest.Contains(t, first.Remedy, test.remedy...)
		})
	}
}

// A field that is read differently from how it is written is a finding.
func TestUnknownFields(t *testing.T) {
	_, findings, err := Read(map[string][]byte{"all.yaml": []byte(strings.Replace(shop, "spec: {", "spec: {replica: 2, ", 1))})
	installtest.Must(t, err)
	if len(findings) != 1 || findings[0].Path != "spec.replica" || findings[0].Object != "all.yaml:1" {
		t.Errorf("got %+v", findings)
	}
}

func TestOptions(t *testing.T) {
	for says, o := range map[string]Options{
		"":                     {"shop", "1.0.0-rc.1", "stable"},
		`--name ""`:            {"", "1.0.0", "stable"},
		`--name "Shop"`:        {"Shop", "1.0.0", "stable"},
		`--version "v1"`:       {"shop", "v1", "stable"},
		`"shop.v1.0.0+A"`:      {"shop", "1.0.0+A", "stable"},
		"allows 63 characters": {strings.Repeat("a", 60), "1.0.0", "stable"},
		`--channel "a b"`:      {"shop", "1.0.0", "a b"},
	} {
		installtest.Error(t, says, o.Validate())
	}
}
