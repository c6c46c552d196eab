package convert

import (
	"strings"
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle/internal/need"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// Each input has about 1 MiB, and is made to need more time or memory than its size.
func TestAttacks(t *testing.T) {
	rules := `[` + strings.Repeat(`{apiGroups: [""], resources: [pods], verbs: [get]},`, 4000) + `]`
	for name, input := range map[string]string{
		"webhooks of one name": with(shop, service, `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: a}, webhooks: [`+
			strings.Repeat(`{name: a.b.c, clientConfig: {service: {namespace: shops, name: hooks}}},`, 5500)+`]}`),
		"webhooks without Service": with(shop, `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: a}, webhooks: [`+
			strings.Repeat(`{name: a.b.c, clientConfig: {service: {name: hooks}}},`, 6500)+`]}`),
		"rules bound twice": with(shop, strings.Replace(clusterRole, `[{apiGroups: [""], resources: [pods], verbs: [get]}]`, rules, 1),
			binding("ClusterRoleBinding", "", "ClusterRole", "["+strings.Repeat(account+",", 1000)+"]")),
		"bindings":      shop + installtest.Numbered(need.MaxInput/200, "\n---\n{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: a%x}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: read}, subjects: ["+account+"]}"),
		"certificates":  with(shop, service, webhook) + installtest.Numbered(need.MaxInput/130, "\n---\n{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {name: a%x}, spec: {secretName: certs, dnsNames: [hooks, b]}}"),
		"volumes":       with(mounting("["+strings.Repeat("{name: certs, mountPath: /a},", 5000)+"]", "["+strings.Repeat("{name: certs, secret: {secretName: certs}},", 5000)+"]"), service, webhook, certificate),
		"objects":       shop + strings.Repeat("\n---\n{apiVersion: a.b/v1, kind: C, metadata: {name: a, generateName: b}}", 1) + installtest.Numbered(9000, "\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: a.%x}}"),
		"one file name": shop + installtest.Numbered(9000, "\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: n%x}}"),
		"texts":         with(shop, "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {"+installtest.Numbered(need.MaxInput/40, "k%08x: namespace shops- and others,")+"}}"),
	} {
		t.Run(name, func(t *testing.T) {
			need.Limited(t, func() {
				objects, _, err := Read(map[string][]byte{"all.yaml": []byte(input)})
				if err == nil {
					_, err = Convert(objects, Options{Name: "shop", Version: "1.0.0", Channel: "stable"})
				}
				t.Log(len(input), err)
			})
		})
	}
}
