package drift

import (
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestDriftOfWebhookConfiguration(t *testing.T) {
	fail, ignore := admissionregistrationv1.Fail, admissionregistrationv1.Ignore
	all := admissionregistrationv1.AllScopes
	desired := func() *admissionregistrationv1.ValidatingWebhookConfiguration {
		return &admissionregistrationv1.ValidatingWebhookConfiguration{
			TypeMeta:   metav1.TypeMeta{APIVersion: "admissionregistration.k8s.io/v1", Kind: "ValidatingWebhookConfiguration"},
			ObjectMeta: metav1.ObjectMeta{Name: "v", Labels: map[string]string{"olm.managed": "true"}},
			Webhooks: []admissionregistrationv1.ValidatingWebhook{{
				Name: "v.example.com", FailurePolicy: &fail,
				ClientConfig:      admissionregistrationv1.WebhookClientConfig{CABundle: []byte("ca")},
				NamespaceSelector: &metav1.LabelSelector{}, ObjectSelector: &metav1.LabelSelector{},
				Rules: []admissionregistrationv1.RuleWithOperations{{
					Operations: []admissionregistrationv1.OperationType{"CREATE"},
					Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}, Scope: &all},
				}},
			}},
		}
	}
	const webhook = `webhooks[name="v.example.com"]`
	tests := map[string]struct {
		change func(*admissionregistrationv1.ValidatingWebhookConfiguration)
		want   Drift
	}{
		"as desired": {func(*admissionregistrationv1.ValidatingWebhookConfiguration) {}, Drift{}},
		"metadata of the API server and other clients": {func(c *admissionregistrationv1.ValidatingWebhookConfiguration) {
			c.UID, c.Generation, c.Annotations = "u", 3, map[string]string{"other": "x"}
			c.Labels["other"] = "x"
		}, Drift{}},
		"policy changed": {func(c *admissionregistrationv1.ValidatingWebhookConfiguration) {
			c.Webhooks[0].FailurePolicy = &ignore
			c.ManagedFields = []metav1.ManagedFieldsEntry{wrote("kubectl-edit", `{"f:webhooks":{"k:{\"name\":\"v.example.com\"}":{"f:failurePolicy":{}}}}`)}
		}, Drift{Fields: []string{webhook + ".failurePolicy"}, By: "kubectl-edit"}},
		"selector narrowed": {func(c *admissionregistrationv1.ValidatingWebhookConfiguration) {
			c.Webhooks[0].NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
		}, Drift{Fields: []string{webhook + ".namespaceSelector"}}},
		"rule widened": {func(c *admissionregistrationv1.ValidatingWebhookConfiguration) {
			c.Webhooks[0].Rules[0].Resources = []string{"*"}
		}, Drift{Fields: []string{webhook + ".rules"}}},
		"label removed": {func(c *admissionregistrationv1.ValidatingWebhookConfiguration) {
			c.Labels = nil
		}, Drift{Fields: []string{"metadata.labels.olm.managed"}}},
		"caBundle removed": {func(c *admissionregistrationv1.ValidatingWebhookConfiguration) {
			c.Webhooks[0].ClientConfig.CABundle = nil
		}, Drift{Fields: []string{webhook + ".clientConfig.caBundle"}}},
		"match condition added": {func(c *admissionregistrationv1.ValidatingWebhookConfiguration) {
			c.Webhooks[0].MatchConditions = []admissionregistrationv1.MatchCondition{{Name: "never", Expression: "false"}}
		}, Drift{
			Fields: []string{webhook + `.matchConditions[name="never"].expression`, webhook + `.matchConditions[name="never"].name`},
			Extra:  []string{webhook + `.matchConditions[name="never"].expression`, webhook + `.matchConditions[name="never"].name`},
		}},
		"applied label that is not desired any more": {func(c *admissionregistrationv1.ValidatingWebhookConfiguration) {
			c.Labels["old"] = "x"
			entry := wrote("olm-webhook-manager", `{"f:metadata":{"f:labels":{"f:old":{},"f:olm.managed":{}}}}`)
			entry.Operation = metav1.ManagedFieldsOperationApply
			c.ManagedFields = []metav1.ManagedFieldsEntry{entry}
		}, Drift{Fields: []string{"metadata.labels.old"}, Extra: []string{"metadata.labels.old"}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			live := desired()
			test.change(live)
			live.TypeMeta = metav1.TypeMeta{} // as listers give it
			installtest.Same(t, "drift", test.want, Compare(desired(), live, ".webhooks").Drift())
		})
	}
}

// By is the client that last wrote a field that differs.
func TestDriftBy(t *testing.T) {
	const policy, path = `{"f:data":{"f:policy":{}}}`, `{"f:data":{"f:other":{}}}`
	at := func(entry metav1.ManagedFieldsEntry, d time.Duration) metav1.ManagedFieldsEntry {
		entry.Time = &metav1.Time{Time: noon.Add(d)}
		return entry
	}
	for name, test := range map[string]struct {
		entries []metav1.ManagedFieldsEntry
		want    string
	}{
		"no client":                   {nil, ""},
		"one":                         {[]metav1.ManagedFieldsEntry{wrote("a", policy)}, "a"},
		"one that wrote another":      {[]metav1.ManagedFieldsEntry{wrote("a", path)}, ""},
		"the manager itself":          {[]metav1.ManagedFieldsEntry{wrote("olm-webhook-manager", policy)}, ""},
		"the later of two":            {[]metav1.ManagedFieldsEntry{at(wrote("a", policy), 0), at(wrote("b", policy), time.Second)}, "b"},
		"the later of two, listed so": {[]metav1.ManagedFieldsEntry{at(wrote("b", policy), time.Second), at(wrote("a", policy), 0)}, "b"},
		"the later wrote another":     {[]metav1.ManagedFieldsEntry{at(wrote("a", policy), 0), at(wrote("b", path), time.Second)}, "a"},
		"one that cannot be read":     {[]metav1.ManagedFieldsEntry{wrote("a", `{"x:data":{}}`), {Manager: "b"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			object := func(value string) *corev1.ConfigMap {
				return &corev1.ConfigMap{
					TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: metav1.ObjectMeta{Name: "c"},
					Data: map[string]string{"policy": value, "other": "x"},
				}
			}
			live := object("edited")
			live.ManagedFields = test.entries
			installtest.Same(t, "drift", Drift{Fields: []string{"data.policy"}, By: test.want}, Of(object("desired"), live))
		})
	}
}

func TestDriftOfDeployment(t *testing.T) {
	const container = `spec.template.spec.containers[name="c"]`
	desired := func() *appsv1.Deployment {
		return &appsv1.Deployment{
			TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
			ObjectMeta: metav1.ObjectMeta{Name: "d"},
			Spec: appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{
				Name: "c", Image: "i:1",
				Env:   []corev1.EnvVar{{Name: "A", Value: "1"}, {Name: "A", Value: "2"}},
				Ports: []corev1.ContainerPort{{ContainerPort: 80, Protocol: "TCP"}, {ContainerPort: 80, Protocol: "TCP", Name: "http"}},
			}}}}},
		}
	}
	defaulted := func() *appsv1.Deployment {
		d := desired()
		pod := &d.Spec.Template.Spec
		pod.RestartPolicy, pod.DNSPolicy = corev1.RestartPolicyAlways, corev1.DNSClusterFirst
		pod.Containers[0].ImagePullPolicy = corev1.PullIfNotPresent
		quarter := intstr.FromString("25%")
		d.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType, RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: &quarter}}
		return d
	}
	tests := map[string]struct {
		change func(*appsv1.Deployment)
		want   []string
	}{
		"defaults, duplicate env names and ports": {func(*appsv1.Deployment) {}, nil},
		"annotation of kubectl rollout restart": {func(d *appsv1.Deployment) {
			d.Spec.Template.Annotations = map[string]string{"kubectl.kubernetes.io/restartedAt": "now"}
		}, nil},
		"image changed": {func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "evil" },
			[]string{container + ".image"}},
		"container removed": {func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Name = "x" },
			[]string{container + ".image", container + ".name", container + `.env[name="A"]`, container + `.ports[containerPort=80,protocol="TCP"]`}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			live := defaulted()
			test.change(live)
			installtest.Same(t, "drift", test.want, Of(desired(), live).Fields)
		})
	}
}
func wrote(manager, fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{
		Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate,
		Time:     &metav1.Time{Time: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)},
		FieldsV1: metav1.NewFieldsV1(fields),
	}
}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestDecisiveFields(t *testing.T) {
	name := metav1.ObjectMeta{Name: "shop", Labels: map[string]string{"a": "b"}}
	for want, objects := range map[string][2]Object{
		"subjects":                    {&rbacv1.RoleBinding{ObjectMeta: name, Subjects: []rbacv1.Subject{{Kind: "User", Name: "a"}}}, &rbacv1.RoleBinding{ObjectMeta: name}},
		"metadata.labels.olm.managed": {&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "shop", Labels: map[string]string{"olm.managed": "true"}}}, &corev1.Service{ObjectMeta: name}},
		"":                            {&corev1.Service{ObjectMeta: name}, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}},
		"data.key":                    {&corev1.Secret{ObjectMeta: name, Data: map[string][]byte{"key": []byte("a")}}, &corev1.Secret{ObjectMeta: name, Data: map[string][]byte{"key": []byte("b")}}},
	} {
		drift, refused := WriteOf(objects[0], objects[1]).Refused()
		installtest.Same(t, "fields", want, strings.Join(drift.Fields, ", "))
		installtest.Same(t, "refused", want != "", refused)
	}
}
