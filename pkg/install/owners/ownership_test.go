package owners

import (
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/permissions"
)

// Every object here has the labels of the ClusterServiceVersion: they decide nothing.
func TestOwnership(t *testing.T) {
	csv := installtest.Operator(installtest.Deployments(installtest.DeploymentOf("manager")), installtest.ServedBy("manager"))
	csv.UID = "csv"
	requested := operatorsv1alpha1.StrategyDeploymentPermissions{ServiceAccountName: "account", Rules: installtest.Policies(installtest.ReadPods)}
	csv.Spec.InstallStrategy.StrategySpec.Permissions = []operatorsv1alpha1.StrategyDeploymentPermissions{requested}
	csv.Spec.InstallStrategy.StrategySpec.ClusterPermissions = []operatorsv1alpha1.StrategyDeploymentPermissions{requested}
	o := Ownership{
		Versions: []*operatorsv1alpha1.ClusterServiceVersion{csv}, Recorded: map[types.UID]bool{"recorded": true}, Services: map[string]bool{"renamed": true},
		Planned: map[string]bool{"ClusterRole planned": true, "Role lifted-by-olm": true, "RoleBinding lifted-by-olm": true},
	}
	meta := func(namespace, name string, uid types.UID, more ...string) metav1.ObjectMeta {
		labels := csvspec.OwnerLabels(csv)
		for _, label := range more {
			labels[label] = "true"
		}
		return metav1.ObjectMeta{Namespace: namespace, Name: name, UID: uid, Labels: labels}
	}
	calling := func(name string, uid types.UID, services ...*admissionregistrationv1.ServiceReference) metav1.Object {
		c := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: meta("", name, uid)}
		for _, service := range services {
			c.Webhooks = append(c.Webhooks, admissionregistrationv1.ValidatingWebhook{ClientConfig: admissionregistrationv1.WebhookClientConfig{Service: service}})
		}
		return c
	}
	service := func(namespace, name string) *admissionregistrationv1.ServiceReference {
		return &admissionregistrationv1.ServiceReference{Namespace: namespace, Name: name}
	}
	own, other := service(csv.Namespace, "manager-service"), service("elsewhere", "manager-service")
	mutating := &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: meta("", "m", ""), Webhooks: []admissionregistrationv1.MutatingWebhook{{ClientConfig: admissionregistrationv1.WebhookClientConfig{Service: own}}}}
	api := func(s *apiregistrationv1.ServiceReference) metav1.Object {
		return &apiregistrationv1.APIService{ObjectMeta: meta("", "v1.x", ""), Spec: apiregistrationv1.APIServiceSpec{Service: s}}
	}
	role := func(m metav1.ObjectMeta, rules ...rbacv1.PolicyRule) metav1.Object {
		return &rbacv1.ClusterRole{ObjectMeta: m, Rules: rules}
	}
	account := rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: csv.Namespace, Name: "account"}
	stranger := rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: "elsewhere", Name: "account"}
	bound := func(m metav1.ObjectMeta, role string, subjects ...rbacv1.Subject) metav1.Object {
		return &rbacv1.ClusterRoleBinding{ObjectMeta: m, RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: role}, Subjects: subjects}
	}
	lifted := meta("", "lifted", "", wellknown.LabelGrantedPermissions)
	ownedRole := meta(csv.Namespace, "owned", "")
	ownedRole.OwnerReferences = csvspec.OwnedMeta(csv, "owned").OwnerReferences
	ownedClusterRole, ownedElsewhere := meta("", "owned", ""), meta("elsewhere", "owned", "")
	ownedClusterRole.OwnerReferences, ownedElsewhere.OwnerReferences = ownedRole.OwnerReferences, ownedRole.OwnerReferences
	reader := func(name string) metav1.Object {
		return &rbacv1.RoleBinding{ObjectMeta: meta(permissions.AuthReaderNamespace, name, ""), RoleRef: rbacv1.RoleRef{Kind: "Role", Name: permissions.AuthReader}, Subjects: []rbacv1.Subject{account}}
	}
	namesake := meta(csv.Namespace, "owned", "")
	namesake.OwnerReferences = []metav1.OwnerReference{{APIVersion: operatorsv1alpha1.ClusterServiceVersionAPIVersion, Kind: operatorsv1alpha1.ClusterServiceVersionKind, Name: csv.Name, UID: "previous"}}
	named := names.Permissions(csv.Namespace, csv.Name, "account")
	ofCatalog := permissions.CatalogClusterRole(csv.Name, csv.Namespace, requested)
	derived := names.WebhookConfiguration(csv.Spec.WebhookDefinitions[0].GenerateName, csv.Namespace, csv.Name, string(csv.Spec.WebhookDefinitions[0].Type))
	for title, test := range map[string]struct {
		object metav1.Object
		want   bool
	}{
		"recorded, for any name":                    {calling("any", "recorded", nil), true},
		"calls its Service, as OLM v0's":            {calling("v-x7k2p", "", own), true},
		"calls it twice":                            {calling("v-x7k2p", "", own, own), true},
		"calls the Service of its other name":       {calling("v", "", service(csv.Namespace, csvspec.AlternateServiceName(csv, "manager"))), true},
		"calls a Service that it owns":              {calling("v", "", service(csv.Namespace, "renamed")), true},
		"has the name that the manager derives":     {calling(derived, "", nil), true},
		"mutating":                                  {mutating, true},
		"calls another Service of the namespace":    {calling("v", "", service(csv.Namespace, "authors")), false},
		"calls a namesake elsewhere":                {calling("v", "", other), false},
		"calls its Service and another":             {calling("v", "", own, other), false},
		"calls a URL":                               {calling("v", "", nil), false},
		"calls no endpoint":                         {calling("v", ""), false},
		"APIService of its Service":                 {api(&apiregistrationv1.ServiceReference{Namespace: csv.Namespace, Name: "manager-service"}), true},
		"APIService of another":                     {api(&apiregistrationv1.ServiceReference{Namespace: "elsewhere", Name: "manager-service"}), false},
		"APIService of the API server":              {api(nil), false},
		"delegates to its namespace":                {bound(meta("", permissions.UsualDelegation("manager-service").Delegator, ""), permissions.AuthDelegator, account), true},
		"delegates, by the other name":              {bound(meta("", permissions.AlternateDelegation(csv.Namespace, "renamed").Delegator, ""), permissions.AuthDelegator, account), true},
		"lets read who calls":                       {reader(permissions.UsualDelegation("manager-service").Reader), true},
		"lets another workload read who calls":      {reader("metrics-auth-reader"), false},
		"delegates to another workload":             {bound(meta("", "metrics-auth", ""), permissions.AuthDelegator, account), false},
		"delegates elsewhere":                       {bound(meta("", permissions.UsualDelegation("manager-service").Delegator, ""), permissions.AuthDelegator, stranger), false},
		"labelled as lifted":                        {role(lifted, installtest.ReadPods, permissions.ReadNamespaces), false},
		"labelled as lifted for its account":        {bound(lifted, "lifted", account), false},
		"created by an InstallPlan, with any rules": {role(meta("", "planned", ""), installtest.ReadLeases), true},
		"a binding of that name":                    {bound(meta("", "planned", ""), "planned", account), false},
		"lifted by OLM v0":                          {role(meta("", "lifted-by-olm", ""), installtest.ReadPods, permissions.ReadNamespaces), true},
		"its binding":                               {bound(meta("", "lifted-by-olm", ""), "lifted-by-olm", account), true},
		"a namesake of what OLM v0 lifts":           {role(meta("", "lifted-by-olm", ""), installtest.Everything), false},
		"of bundle install":                         {role(meta("", named, ""), installtest.ReadPods), true},
		"of that name, with more":                   {role(meta("", named, ""), installtest.Everything), false},
		"of a catalog, without its InstallPlan":     {role(meta("", ofCatalog, ""), installtest.ReadPods), true},
		"the binding of a catalog":                  {bound(meta("", ofCatalog, ""), ofCatalog, account), true},
		"of a catalog's name, with more":            {role(meta("", ofCatalog, ""), installtest.Everything), false},
		"of a catalog's name, for another account":  {bound(meta("", ofCatalog, ""), ofCatalog, stranger), false},
		"only labelled":                             {role(meta("", "reader", ""), installtest.ReadPods), false},
		"a binding that is only labelled":           {bound(meta("", "reader", ""), "reader", account), false},
		"owned by its uid":                          {&rbacv1.Role{ObjectMeta: ownedRole}, true},
		"owned by a previous namesake":              {&rbacv1.Role{ObjectMeta: namesake}, false},
		"cluster-scoped, with an owner reference":   {role(ownedClusterRole, installtest.Everything), false},
		"elsewhere, with an owner reference":        {&rbacv1.Role{ObjectMeta: ownedElsewhere}, false},
	} {
		installtest.Same(t, title, test.want, o.Proves(test.object))
	}
}

// A plan names what it created for a ClusterServiceVersion of its namespace, and what it found.
func TestPlannedFor(t *testing.T) {
	csv := installtest.Operator(nil)
	step := func(resolving, group, kind string, status operatorsv1alpha1.StepStatus) *operatorsv1alpha1.Step {
		return &operatorsv1alpha1.Step{Resolving: resolving, Status: status, Resource: operatorsv1alpha1.StepResource{Group: group, Kind: kind, Name: "reader"}}
	}
	plan := func(namespace string, steps ...*operatorsv1alpha1.Step) operatorsv1alpha1.InstallPlan {
		return operatorsv1alpha1.InstallPlan{ObjectMeta: metav1.ObjectMeta{Namespace: namespace}, Status: operatorsv1alpha1.InstallPlanStatus{Plan: steps}}
	}
	created, present := operatorsv1alpha1.StepStatusCreated, operatorsv1alpha1.StepStatusPresent
	planned := InstallPlanObjects(csv, []operatorsv1alpha1.InstallPlan{
		plan(csv.Namespace, step(csv.Name, rbacv1.GroupName, "ClusterRole", created), nil, step(csv.Name, rbacv1.GroupName, "Role", present),
			step("other.v1", rbacv1.GroupName, "RoleBinding", created), step(csv.Name, "example.com", "ClusterRoleBinding", created)),
		plan("elsewhere", step(csv.Name, rbacv1.GroupName, "ClusterRoleBinding", created)),
	})
	installtest.Same(t, "planned", map[string]bool{"ClusterRole reader": true}, planned)
}
