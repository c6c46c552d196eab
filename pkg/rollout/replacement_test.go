package rollout

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// Fields with which the manager created a Service and that are not desired any more are removed by
// an update: after an apply they would stay, since their creator still owns them. Fields of other
// clients and defaults stay.
func TestUpdateRemovesCreatedFields(t *testing.T) {
	service := func(owners []metav1.OwnerReference, ports ...int32) *corev1.Service {
		s := &corev1.Service{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "s", OwnerReferences: owners},
			Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP, Selector: map[string]string{"app": "shop"}},
		}
		for _, port := range ports {
			s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: fmt.Sprint(port), Port: port, Protocol: corev1.ProtocolTCP})
		}
		return s
	}
	const ours = `{"f:metadata":{"f:ownerReferences":{".":{},"k:{\"uid\":\"uid-of-first\"}":{}}},"f:spec":{"f:sessionAffinity":{},"f:selector":{},"f:type":{},"f:ports":{".":{},` +
		`"k:{\"port\":443,\"protocol\":\"TCP\"}":{".":{},"f:name":{},"f:port":{},"f:protocol":{},"f:targetPort":{}},` +
		`"k:{\"port\":8443,\"protocol\":\"TCP\"}":{".":{},"f:name":{},"f:port":{},"f:protocol":{},"f:targetPort":{}}}}}`
	first, second, other := ownersOf("first"), ownersOf("second"), ownersOf("other")
	for name, test := range map[string]struct {
		desired    *corev1.Service
		want       Verb // "" for none
		wantOwners []metav1.OwnerReference
		wantPorts  []int32
	}{
		"as it was created":            {desired: service(first, 443, 8443)},
		"a port is declared no more":   {service(first, 443), Update, append(other, first...), []int32{443, 9000}},
		"another port takes its place": {service(first, 443, 8080), Update, append(other, first...), []int32{443, 8080, 9000}},
		"a port is added":              {service(first, 443, 8443, 8080), Apply, first, []int32{443, 8443, 8080}},
		"it has another owner":         {service(second, 443, 8443), Update, append(other, second...), []int32{443, 8443, 9000}},
	} {
		t.Run(name, func(t *testing.T) {
			live := service(append(ownersOf("first"), other...), 443, 8443, 9000)
			live.Spec.SessionAffinity = corev1.ServiceAffinityNone
			live.ManagedFields = []metav1.ManagedFieldsEntry{wrote("olm-webhook-manager", ours)}
			step, needed := Observed{}.stepTo(test.desired, live)
			if step.Verb != test.want || needed != (test.want != "") {
				t.Fatalf("step %s %v, want %s", step.Verb, step.Drift, test.want)
			}
			trimmed := live.DeepCopy()
			drift.TrimManagedFields(trimmed)
			ofTrimmed, _ := Observed{}.stepTo(test.desired, trimmed)
			installtest.Same(t, "with trimmed managed fields", step, ofTrimmed, cmpopts.IgnoreFields(Step{}, "Live"))
			if !needed {
				return
			}
			written := step.Object.(*corev1.Service)
			installtest.Same(t, "ports", service(test.wantOwners, test.wantPorts...).Spec.Ports, written.Spec.Ports)
			installtest.Same(t, "owners", test.wantOwners, written.OwnerReferences)
		})
	}
}

func ownersOf(names ...string) []metav1.OwnerReference {
	return lists.Map(names, func(name string) metav1.OwnerReference { return installtest.OwnerOf("ClusterServiceVersion", name) })
}

// A Role and a RoleBinding that change owners grant only the desired permissions.
func TestUpdateOfGrants(t *testing.T) {
	const ours = `{"f:metadata":{"f:ownerReferences":{".":{},"k:{\"uid\":\"uid-of-first\"}":{}}}}`
	created := []metav1.ManagedFieldsEntry{wrote("olm-webhook-manager", ours)}
	role := func(owner, verb string) *rbacv1.Role {
		return &rbacv1.Role{
			TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "Role"},
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "r", OwnerReferences: ownersOf(owner)},
			Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{verb}}},
		}
	}
	live := role("first", "*")
	live.ManagedFields = created
	step, _ := Observed{}.stepTo(role("second", "get"), live)
	granted := step.Object.(*rbacv1.Role)
	installtest.Same(t, "verb", Update, step.Verb)
	installtest.Same(t, "rules", role("second", "get").Rules, granted.Rules)
	installtest.Same(t, "owners", ownersOf("second"), granted.OwnerReferences)

	binding := func(owner, account string) *rbacv1.RoleBinding {
		return &rbacv1.RoleBinding{
			TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "RoleBinding"},
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "r", OwnerReferences: ownersOf(owner)},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "r"},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "shop", Name: account}},
		}
	}
	bound := binding("first", "another")
	bound.ManagedFields = created
	step, _ = Observed{}.stepTo(binding("second", "shop"), bound)
	given := step.Object.(*rbacv1.RoleBinding)
	installtest.Same(t, "verb", Update, step.Verb)
	installtest.Same(t, "subjects", binding("second", "shop").Subjects, given.Subjects)
	installtest.Same(t, "owners", ownersOf("second"), given.OwnerReferences)
}

// An object that was created in this reconciliation is not compared: the stored object is not in the cache.
func TestJustCreatedIsNotCompared(t *testing.T) {
	live := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "s"}}
	desired := live.DeepCopy()
	desired.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}
	desired.Labels = map[string]string{"a": "b"}
	_, needed := (Observed{}).stepTo(desired, live)
	installtest.Same(t, "a step is needed", true, needed)
	_, needed = (Observed{JustCreated: map[string]bool{drift.KeyOf(live): true}}).stepTo(desired, live)
	installtest.Same(t, "a step is needed for what was just created", false, needed)
}
