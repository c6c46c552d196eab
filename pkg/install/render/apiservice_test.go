package render

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/permissions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/requirements"
)

// What OLM v0 creates for an owned APIService, with an owner for what has none there.
func TestAPIServiceIsOLMs(t *testing.T) {
	in := inputOf(installtest.Owning(installtest.Operator(installtest.Deployments(installtest.DeploymentOf("manager"))), "Pond", "manager", 0))
	in.Delegations = map[string]permissions.Delegation{"manager": permissions.UsualDelegation("manager-service")}
	in.Trust = map[string]Trust{"manager": {CABundle: []byte("ca"), Generation: 3}}
	d := Objects(in).Deployments[0]

	owner := csvspec.OwnerLabels(in.CSV)
	account := []rbacv1.Subject{{Kind: "ServiceAccount", Name: "default", Namespace: in.CSV.Namespace}}
	for title, pair := range map[string][2]any{
		"APIService": {d.Webhooks[0].Registration, &apiregistrationv1.APIService{
			TypeMeta: metav1.TypeMeta{APIVersion: "apiregistration.k8s.io/v1", Kind: "APIService"},
			ObjectMeta: metav1.ObjectMeta{
				Name: "v1.ponds.example.com", Labels: labels.Merge(owner, map[string]string{"olm.webhook-description-hash": OLMHash(d.Webhooks[0].Description)}),
				Annotations: map[string]string{"olm-webhook-manager.io/certificate-generation": "3"},
			},
			Spec: apiregistrationv1.APIServiceSpec{
				Service: &apiregistrationv1.ServiceReference{Namespace: in.CSV.Namespace, Name: "manager-service", Port: new(int32(443))},
				Group:   "ponds.example.com", Version: "v1", CABundle: []byte("ca"), GroupPriorityMinimum: 2000, VersionPriority: 15,
			},
		}},
		"auth-delegator": {d.AuthDelegator, &rbacv1.ClusterRoleBinding{
			TypeMeta:   metav1.TypeMeta{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRoleBinding"},
			ObjectMeta: metav1.ObjectMeta{Name: "manager-service-system:auth-delegator", Labels: owner},
			RoleRef:    rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: "system:auth-delegator"},
			Subjects:   account,
		}},
		"auth-reader": {d.AuthReader, &rbacv1.RoleBinding{
			TypeMeta:   metav1.TypeMeta{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "RoleBinding"},
			ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "manager-service-auth-reader", Labels: owner},
			RoleRef:    rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "Role", Name: "extension-apiserver-authentication-reader"},
			Subjects:   account,
		}},
	} {
		installtest.Same(t, title, pair[1], pair[0])
	}
}

// One Service has the ports of all that its Deployment serves: APIServices first, as with
// OLM v0. The kinds of one version are one APIService.
func TestAPIServicesShareTheService(t *testing.T) {
	csv := installtest.Operator(installtest.Deployments(installtest.DeploymentOf("manager"), installtest.DeploymentOf("plain")),
		installtest.ServedBy("manager"),
		installtest.ServedBy("manager", func(d *operatorsv1alpha1.WebhookDescription) {
			d.GenerateName, d.TargetPort = "w.shop.example.com", new(intstr.FromInt(9443))
		}))
	installtest.Owning(installtest.Owning(csv, "Pond", "manager", 443), "Lake", "manager", 0)
	desired := Objects(inputOf(csv))
	served := desired.Deployments[0]
	got := lists.Map(served.Webhooks, func(w Webhook) string { return w.Description.GenerateName })
	installtest.Same(t, "registered", []string{"v1.ponds.example.com", "v.shop.example.com", "w.shop.example.com"}, got)
	ports := lists.Map(served.Service.Spec.Ports, func(p corev1.ServicePort) string { return p.Name + " to " + p.TargetPort.String() })
	installtest.Same(t, "ports", []string{"443 to 443", "444 to 9443"}, ports)
	if plain := desired.Deployments[1]; plain.Service != nil || plain.AuthDelegator != nil || plain.AuthReader != nil {
		t.Error("a Deployment that serves nothing has a Service, or bindings")
	}
}

func TestWebhookServersAskNobody(t *testing.T) {
	d := Objects(inputOf(installtest.Operator(installtest.Deployments(installtest.DeploymentOf("manager")), installtest.ServedBy("manager")))).Deployments[0]
	installtest.Same(t, "the ClusterRoleBinding", nil, d.AuthDelegator)
	installtest.Same(t, "the RoleBinding", nil, d.AuthReader)
}

func TestAPIServiceOfTheAdministrator(t *testing.T) {
	in := inputOf(installtest.Owning(installtest.Operator(installtest.Deployments(installtest.DeploymentOf("manager"))), "Pond", "manager", 0))
	injected := map[string]string{"cert-manager.io/inject-ca-from": "shop/serving"}
	in.Config.Annotations = labels.Merge(injected, map[string]string{wellknown.AnnotationCertificateProvider: "none"})
	in.Trust = map[string]Trust{"manager": {CABundle: []byte("ca"), Delegated: true}}
	service := Objects(in).Deployments[0].Webhooks[0].Registration.(*apiregistrationv1.APIService)
	installtest.None(t, "caBundle", service.Spec.CABundle)
	installtest.Same(t, "annotations", injected, service.Annotations)
}

// An APIService stays registered until its successor serves.
func TestChangesOfAPIServices(t *testing.T) {
	is := csvspec.Identity{Type: csvspec.APIServiceType, GenerateName: "v1.ponds.example.com"}
	one, two := installtest.DeploymentOf("one"), installtest.DeploymentOf("two")
	for title, test := range map[string]struct {
		older, newer *operatorsv1alpha1.ClusterServiceVersion
		want         Change
	}{
		"as before":          {installtest.Owning(installtest.Operator(installtest.Deployments(one)), "Pond", "one", 0), installtest.Owning(installtest.Operator(installtest.Deployments(one)), "Pond", "one", 443), Same},
		"another kind":       {installtest.Owning(installtest.Operator(installtest.Deployments(one)), "Pond", "one", 0), installtest.Owning(installtest.Operator(installtest.Deployments(one)), "Lake", "one", 0), Same},
		"another port":       {installtest.Owning(installtest.Operator(installtest.Deployments(one)), "Pond", "one", 0), installtest.Owning(installtest.Operator(installtest.Deployments(one)), "Pond", "one", 6443), Moved},
		"another Deployment": {installtest.Owning(installtest.Operator(installtest.Deployments(one, two)), "Pond", "one", 0), installtest.Owning(installtest.Operator(installtest.Deployments(one, two)), "Pond", "two", 0), Moved},
		"not declared":       {installtest.Owning(installtest.Operator(installtest.Deployments(one)), "Pond", "one", 0), installtest.Operator(installtest.Deployments(one)), Removed},
	} {
		installtest.Same(t, title, test.want, Changes(test.older, test.newer)[is])
	}
}

func TestOwnedKindsOfTwoServers(t *testing.T) {
	for title, test := range map[string]struct {
		deployment string
		port       int32
		passes     bool
	}{
		"one server":      {"one", 443, true},
		"two Deployments": {"two", 443, false},
		"two ports":       {"one", 6443, false},
	} {
		csv := installtest.Operator(installtest.Deployments(installtest.DeploymentOf("one"), installtest.DeploymentOf("two")))
		installtest.Owning(installtest.Owning(csv, "Pond", "one", 0), "Lake", test.deployment, test.port)
		installtest.Same(t, title+": passes", test.passes, requirements.Check(requirements.Facts{CSV: csv}).Passes())
	}
}

// Bindings with another role, or for others, are not those of a server in the namespace.
func TestDelegatesTo(t *testing.T) {
	in := inputOf(installtest.Owning(installtest.Operator(installtest.Deployments(installtest.DeploymentOf("manager"))), "Pond", "manager", 0))
	in.Delegations = map[string]permissions.Delegation{"manager": permissions.UsualDelegation("manager-service")}
	d := Objects(in).Deployments[0]
	other := d.AuthReader.DeepCopy()
	other.Namespace = "shop"
	role := d.AuthDelegator.DeepCopy()
	role.RoleRef.Name = "cluster-admin"
	group := d.AuthDelegator.DeepCopy()
	group.Subjects = append(group.Subjects, rbacv1.Subject{Kind: "Group", Name: "everybody"})
	for title, test := range map[string]struct {
		binding   metav1.Object
		namespace string
		want      bool
	}{
		"of a cluster":         {d.AuthDelegator, in.CSV.Namespace, true},
		"of kube-system":       {d.AuthReader, in.CSV.Namespace, true},
		"of another namespace": {d.AuthDelegator, "elsewhere", false},
		"in another namespace": {other, in.CSV.Namespace, false},
		"to another role":      {role, in.CSV.Namespace, false},
		"for others, too":      {group, in.CSV.Namespace, false},
		"something else":       {d.Service, in.CSV.Namespace, false},
	} {
		installtest.Same(t, title, test.want, permissions.DelegatesTo(test.binding, test.namespace))
	}
}
