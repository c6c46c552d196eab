package owners

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// converter is a ClusterServiceVersion whose Deployment "server" converts things and works
// under the account "account"; "other" does neither.
func converter() *operatorsv1alpha1.ClusterServiceVersion {
	csv := installtest.Operator(installtest.Deployments(installtest.DeploymentOf("server"), installtest.DeploymentOf("other")))
	csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0].Spec.Template.Spec.ServiceAccountName = "account"
	csv.Spec.WebhookDefinitions = []operatorsv1alpha1.WebhookDescription{
		{Type: operatorsv1alpha1.ConversionWebhook, DeploymentName: "server", ConversionCRDs: []string{"things.example.com", "absent.example.com"}},
	}
	return csv
}

func owner(kind, name string) metav1.OwnerReference {
	return installtest.OwnerOf(kind, name)
}

func convertedBy(service string) *apiextensionsv1.CustomResourceDefinition {
	return installtest.Definition("levers.example.com", func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter, Webhook: &apiextensionsv1.WebhookConversion{
			ClientConfig: &apiextensionsv1.WebhookClientConfig{Service: &apiextensionsv1.ServiceReference{Namespace: "shop", Name: service}},
		}}
	})
}

func TestKeptOwners(t *testing.T) {
	csv := converter()
	ours, theirs, things := owner("ClusterServiceVersion", "shop"), owner("ClusterServiceVersion", "other"), definitionOwner(installtest.Definition("things.example.com"))
	bindings := []*rbacv1.RoleBinding{{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "binding"}, RoleRef: rbacv1.RoleRef{Kind: "Role", Name: "role"},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "shop", Name: "account"}},
	}, {
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "elsewhere"}, RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "unbound"},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "another", Name: "account"}},
	}}
	live := map[string]*appsv1.Deployment{"former": {}}
	for _, spec := range csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
		live[spec.Name] = &appsv1.Deployment{Spec: spec.Spec}
	}
	tests := map[string]struct {
		kind, name string
		labelled   bool
		has, want  []metav1.OwnerReference // none: nothing is to be written
	}{
		"what converts":                   {"Deployment", "server", true, []metav1.OwnerReference{ours}, []metav1.OwnerReference{ours, things}},
		"its Service":                     {"Service", "server-service", true, []metav1.OwnerReference{ours}, []metav1.OwnerReference{ours, things}},
		"its Service, by olm-operator":    {"Service", "server-service", false, []metav1.OwnerReference{ours}, []metav1.OwnerReference{ours, things}},
		"its Secret":                      {"Secret", "server-service-cert", true, []metav1.OwnerReference{ours}, []metav1.OwnerReference{ours, things}},
		"what converts, declared no more": {"Deployment", "former", true, []metav1.OwnerReference{ours}, []metav1.OwnerReference{ours, definitionOwner(convertedBy("former-service"))}},
		"kept already":                    {"Deployment", "server", true, []metav1.OwnerReference{things, ours}, nil},
		"orphaned meanwhile":              {"Deployment", "server", true, []metav1.OwnerReference{things}, nil},
		"handed over":                     {"Deployment", "server", true, []metav1.OwnerReference{theirs, ours}, []metav1.OwnerReference{theirs, ours, things}},
		"another Deployment":              {"Deployment", "other", true, []metav1.OwnerReference{ours}, nil},
		"one that does not any more":      {"Deployment", "other", true, []metav1.OwnerReference{ours, things}, []metav1.OwnerReference{ours}},
		"for a recreated definition":      {"Deployment", "server", true, []metav1.OwnerReference{ours, definitionOwner(installtest.Definition("former"))}, []metav1.OwnerReference{ours, things}},
		"owned by a definition, too":      {"ServiceAccount", "unused", false, []metav1.OwnerReference{ours, owner("CustomResourceDefinition", "things.example.com")}, nil},
		"its account":                     {"ServiceAccount", "account", false, []metav1.OwnerReference{ours}, []metav1.OwnerReference{ours, things}},
		"another account":                 {"ServiceAccount", "unused", false, []metav1.OwnerReference{ours}, nil},
		"an account that no client owns":  {"ServiceAccount", "account", false, nil, nil},
		"an account of another client's":  {"ServiceAccount", "account", false, []metav1.OwnerReference{theirs}, nil},
		"what the account is given":       {"RoleBinding", "binding", false, []metav1.OwnerReference{ours}, []metav1.OwnerReference{ours, things}},
		"the role of that":                {"Role", "role", false, []metav1.OwnerReference{ours}, []metav1.OwnerReference{ours, things}},
		"given to others":                 {"RoleBinding", "elsewhere", false, []metav1.OwnerReference{ours}, nil},
		"a role of the name of a cluster": {"Role", "unbound", false, []metav1.OwnerReference{ours}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			o := &metav1.ObjectMeta{Namespace: "shop", Name: test.name, OwnerReferences: test.has}
			switch {
			case test.labelled:
				o.Labels = csvspec.OwnerLabels(csv)
			case test.kind == "Service":
				o.Labels = map[string]string{wellknown.LabelManaged: "true"}
			}
			kept := DefinitionOwnersOf(csv, live, map[string]string{"server": "server-service", "other": "other-service"},
				map[string]*apiextensionsv1.CustomResourceDefinition{"things.example.com": installtest.Definition("things.example.com"), "levers.example.com": convertedBy("former-service")})
			owners, differ := kept.Owners(test.kind, o, bindings)
			installtest.Same(t, "they differ", test.want != nil, differ)
			if diff := cmp.Diff(test.want, owners); differ && diff != "" {
				t.Errorf("owners (-want +got):\n%s", diff)
			}
		})
	}
}

// A definition that is being deleted keeps nothing: a client that awaits its dependents would remove them again.
func TestDeletedDefinitionKeepsNothing(t *testing.T) {
	crd := installtest.Definition("things.example.com")
	crd.DeletionTimestamp = &metav1.Time{}
	crds := map[string]*apiextensionsv1.CustomResourceDefinition{crd.Name: crd}
	installtest.Same(t, "the number of definitions", 0, len(convertedDefinitions(converter(), "server", nil, crds)))
}

func TestFateOf(t *testing.T) {
	csv := converter()
	ours, theirs, stranger := owner("ClusterServiceVersion", "shop"), owner("ClusterServiceVersion", "other"), owner("ConfigMap", "stranger")
	things, levers := definitionOwner(installtest.Definition("things.example.com")), definitionOwner(installtest.Definition("levers.example.com"))
	fake := things
	fake.APIVersion = "evil.example.com/v1"
	tests := map[string]struct {
		labelled  bool
		has       []metav1.OwnerReference
		want      Cleanup
		orphaned  Cleanup
		converted map[string]bool
	}{
		"not kept":                          {true, []metav1.OwnerReference{ours}, Ignore, Ignore, nil},
		"kept, with its owner":              {true, []metav1.OwnerReference{ours, things}, Delete, Release, nil},
		"kept, without":                     {true, []metav1.OwnerReference{things}, Delete, Release, nil},
		"kept for what is declared no more": {true, []metav1.OwnerReference{levers}, Delete, Release, nil},
		"another version owns it, too":      {true, []metav1.OwnerReference{ours, things, theirs}, Ignore, Ignore, nil},
		"a definition owns it, too":         {true, []metav1.OwnerReference{ours, things, owner("CustomResourceDefinition", "levers.example.com")}, Release, Release, nil},
		"another client owns it, too":       {true, []metav1.OwnerReference{ours, things, stranger}, Release, Release, nil},
		"an account":                        {false, []metav1.OwnerReference{ours, things}, Delete, Release, nil},
		"an account, without its owner":     {false, []metav1.OwnerReference{things}, Delete, Release, nil},
		"of another version, still called":  {false, []metav1.OwnerReference{things}, Ignore, Release, map[string]bool{"things.example.com": true}},
		"another group's kind owns it, too": {true, []metav1.OwnerReference{ours, things, owner("ClusterServiceVersion.evil.example.com", "evil")}, Release, Release, nil},
		"kept by another group's kind":      {true, []metav1.OwnerReference{ours, fake}, Ignore, Ignore, nil},
		"an account of another operator":    {false, []metav1.OwnerReference{levers}, Ignore, Ignore, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			o := &metav1.ObjectMeta{OwnerReferences: test.has}
			if test.labelled {
				o.Labels = csvspec.OwnerLabels(csv)
			}
			installtest.Same(t, "cleanup", test.want, CleanupOf(o, csv, false, test.converted))
			installtest.Same(t, "orphaned, cleanup", test.orphaned, CleanupOf(o, csv, true, test.converted))
		})
	}
}

func TestOrphans(t *testing.T) {
	csv := converter()
	record := func(owners ...metav1.OwnerReference) *managerv1alpha1.WebhookRollout {
		return &managerv1alpha1.WebhookRollout{ObjectMeta: metav1.ObjectMeta{OwnerReferences: owners}}
	}
	owned, lost := record(owner("ClusterServiceVersion", "shop")), record()
	tests := map[string]struct {
		finalizer string
		record    *managerv1alpha1.WebhookRollout
		want      bool
	}{
		"in the background":                   {"", owned, false},
		"in the foreground":                   {metav1.FinalizerDeleteDependents, owned, false},
		"in the foreground, later":            {"", nil, false},
		"in the foreground, recreated":        {"", owned, false},
		"orphaning":                           {metav1.FinalizerOrphanDependents, owned, true},
		"orphaning, later":                    {"", lost, true},
		"orphaning, and nothing was recorded": {metav1.FinalizerOrphanDependents, nil, true},
	}
	for name, test := range tests {
		csv.Finalizers = []string{"operators.coreos.com/csv-cleanup", test.finalizer}
		installtest.Same(t, name+": orphans dependents", test.want, OrphansDependents(csv, test.record))
	}
}
