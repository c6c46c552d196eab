package deploy

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func manifestOf(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	installtest.Must(t, yaml.Unmarshal([]byte(text), &o.Object))
	return o
}

func takenBy(o *unstructured.Unstructured, manager, subresource, fields string) *unstructured.Unstructured {
	o = o.DeepCopy()
	own := &metav1.FieldsV1{}
	own.SetRawBytes([]byte(`{"f:spec":{},"f:rules":{},"f:data":{}}`))
	taken := &metav1.FieldsV1{}
	taken.SetRawBytes([]byte(fields))
	o.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: FieldManager, FieldsV1: own}, {Manager: manager, Subresource: subresource, FieldsV1: taken}})
	return o
}

// An object is adopted by a client that owns a field of its content, and by no metadata, status or added field.
func TestTakenBy(t *testing.T) {
	const (
		role               = "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: a}, rules: [{verbs: [get]}]}"
		definition         = "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: a}, spec: {group: a, conversion: {strategy: Webhook}, versions: []}}"
		config             = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: b}}"
		secret             = "{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {a: b}}"
		account            = "{apiVersion: v1, kind: ServiceAccount, metadata: {name: a}}"
		entry              = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}"
		webhooks           = "{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: a}, webhooks: [{name: a.b.c, failurePolicy: Ignore, clientConfig: {service: {name: a}}}]}"
		service            = "{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {ports: [{port: 443, targetPort: 8443}]}}"
		policy             = "{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: a}, spec: {selector: {matchLabels: {a: b}}}}"
		accountWithSecrets = "{apiVersion: v1, kind: ServiceAccount, metadata: {name: a}, imagePullSecrets: [{name: a}]}"
		class              = "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: a}, value: 1}"
		csv                = "{apiVersion: operators.coreos.com/v1alpha1, kind: ClusterServiceVersion, metadata: {name: a}, spec: {version: 1.0.0}}"
	)
	for name, c := range map[string]struct {
		manifest, manager, subresource, fields string
		taken                                  bool
	}{
		"rules":                              {role, "helm", "", `{"f:rules":{}}`, true},
		"versions of a definition":           {definition, "helm", "", `{"f:spec":{"f:versions":{}}}`, true},
		"value of a class":                   {class, "helm", "", `{"f:value":{}}`, true},
		"a key of the manifest":              {config, "helm", "", `{"f:data":{"f:a":{}}}`, true},
		"a key of a Secret":                  {secret, "helm", "", `{"f:data":{"f:a":{}}}`, true},
		"data that the manifest lacks":       {entry, "service-ca-operator", "", `{"f:data":{".":{},"f:ca.crt":{}}}`, false},
		"the caBundle of a webhook":          {webhooks, "cert-manager-cainjector", "", `{"f:webhooks":{"k:{\"name\":\"a.b.c\"}":{"f:clientConfig":{"f:caBundle":{}}}}}`, false},
		"the policy of a webhook":            {webhooks, "helm", "", `{"f:webhooks":{"k:{\"name\":\"a.b.c\"}":{".":{},"f:name":{},"f:failurePolicy":{}}}}`, true},
		"the port of a Service":              {service, "helm", "", `{"f:spec":{"f:ports":{"k:{\"port\":443,\"protocol\":\"TCP\"}":{"f:targetPort":{}}}}}`, true},
		"another port of a Service":          {service, "mesh", "", `{"f:spec":{"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{"f:targetPort":{}}}}}`, false},
		"an added entry of a list":           {accountWithSecrets, "openshift-controller-manager", "", `{"f:imagePullSecrets":{"k:{\"name\":\"b\"}":{}}}`, false},
		"a field below":                      {policy, "helm", "", `{"f:spec":{"f:selector":{"f:matchLabels":{"f:a":{}}}}}`, true},
		"another field below":                {policy, "helm", "", `{"f:spec":{"f:selector":{"f:matchLabels":{"f:b":{}}}}}`, false},
		"fields that cannot be read":         {config, "helm", "", `[]`, true},
		"another key":                        {config, "service-ca-operator", "", `{"f:data":{".":{},"f:ca.crt":{}}}`, false},
		"the conversion":                     {definition, "cert-manager-cainjector", "", `{"f:spec":{"f:conversion":{"f:webhook":{}}}}`, false},
		"labels":                             {role, "helm", "", `{"f:metadata":{"f:labels":{"f:a":{}}}}`, false},
		"the status":                         {role, "helm", "", `{"f:status":{}}`, false},
		"a subresource":                      {config, "helm", "status", `{"f:data":{"f:a":{}}}`, false},
		"Secrets of an account":              {account, "openshift-controller-manager", "", `{"f:imagePullSecrets":{},"f:secrets":{}}`, false},
		"the manager":                        {role, "olm-webhook-manager", "", `{"f:rules":{}}`, false},
		"kube-controller-manager":            {config, "kube-controller-manager", "", `{"f:data":{"f:a":{}}}`, false},
		"aggregated rules":                   {role, "clusterrole-aggregation-controller", "", `{"f:rules":{}}`, false},
		"the operator, which is asked about": {csv, "kubectl-edit", "", `{"f:spec":{"f:version":{}}}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			manifest := manifestOf(t, c.manifest)
			var want []string
			if c.taken {
				want = []string{c.manager}
			}
			installtest.Same(t, "taken by", want, TakenBy(manifest, takenBy(manifest, c.manager, c.subresource, c.fields)))
		})
	}
}

// What the installation created with fields of another client is removed only if adopted. The line names that client.
func TestRemovalOfWhatAnotherClientTook(t *testing.T) {
	const reference = "ClusterRole.rbac.authorization.k8s.io/a"
	role := manifestOf(t, "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: a}, rules: [{verbs: [get]}]}")
	live := naming("mall/shop", role.DeepCopy())
	live.SetUID("1")
	record := Record{CSV: "shop.v1", Namespace: "mall", Package: "shop", Objects: []Recorded{{
		TypeMeta: metav1.TypeMeta{APIVersion: role.GetAPIVersion(), Kind: "ClusterRole"}, Name: "a", UID: types.UID("1"), Created: true,
	}}}
	taken := takenBy(live, "helm", "", `{"f:rules":{}}`)
	for name, c := range map[string]struct {
		live     *unstructured.Unstructured
		adopted  []string
		line     string
		messages []string
	}{
		"as it was written": {live: live, line: "ClusterRole a"},
		"adopted":           {live: taken, messages: []string{"ClusterRole a stays: another client owns fields of it (written by helm); --adopt " + reference + " removes it"}},
		"and adopted":       {live: taken, adopted: []string{reference}, line: "ClusterRole a (written by helm)"},
	} {
		t.Run(name, func(t *testing.T) {
			r := Removal{Delete: []*unstructured.Unstructured{role}}
			installtest.Must(t, r.Restrict(record, nil, c.adopted, func(*unstructured.Unstructured) (*unstructured.Unstructured, error) { return c.live, nil }))
			line := ""
			for _, o := range r.Delete {
				line += r.Line(o)
			}
			installtest.Same(t, "what is removed", c.line, line)
			installtest.Same(t, "messages", c.messages, r.Messages)
		})
	}
}
