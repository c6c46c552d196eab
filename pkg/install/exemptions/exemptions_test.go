package exemptions

import (
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// guardedBy is an operator in the namespace "shop" with one webhook, and a manager that runs in the cluster.
func guardedBy(d operatorsv1alpha1.WebhookDescription, group ...func(*operatorsv1.OperatorGroup)) Input {
	csv := installtest.Operator(installtest.Deployments(installtest.DeploymentOf("manager")), d)
	return Input{CSV: csv, Scope: installtest.ScopeOf(csv, group...), Services: installtest.ServicesOf(csv), Manager: installtest.ManagerUser}
}

func TestSelfDeadlocks(t *testing.T) {
	type change = func(*operatorsv1alpha1.WebhookDescription)
	const create, update, everything = admissionregistrationv1.Create, admissionregistrationv1.Update, admissionregistrationv1.OperationAll
	pods := installtest.AboutRequests(create, "", "pods")
	exists := func(key string, operator metav1.LabelSelectorOperator) metav1.LabelSelector {
		return metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: key, Operator: operator}}}
	}
	bySelector := func(group *operatorsv1.OperatorGroup) {
		group.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "red"}}
	}

	for name, test := range map[string]struct {
		webhook []change
		group   func(*operatorsv1.OperatorGroup)
		want    []string
	}{
		"pods":                          {[]change{pods}, nil, []string{"own-pods", "system-workloads"}},
		"everything of the core group":  {[]change{installtest.AboutRequests(everything, "", "*/*")}, nil, []string{"own-pods", "own-services", "own-certificates", "own-accounts", "own-quota", "own-volumes", "own-bound-volumes", "nodes", "system-workloads", "manager-writes"}},
		"all resources, no subresource": {[]change{installtest.AboutRequests(create, "", "*")}, nil, []string{"own-pods", "own-services", "own-certificates", "own-accounts", "own-quota", "own-volumes", "own-bound-volumes", "nodes", "system-workloads"}},
		"the placing of pods":           {[]change{installtest.AboutRequests(create, "", "pods/binding")}, nil, []string{"own-pods", "system-workloads"}},
		"their status":                  {[]change{installtest.AboutRequests(update, "", "pods/status")}, nil, []string{"own-pods", "system-workloads"}},
		"their eviction":                {[]change{installtest.AboutRequests(create, "", "pods/*")}, nil, []string{"own-pods", "system-workloads"}},
		"shells in them":                {[]change{installtest.AboutRequests(admissionregistrationv1.Connect, "", "pods/exec")}, nil, nil},
		"workloads":                     {[]change{installtest.AboutRequests(create, "apps", "deployments", "replicasets")}, nil, []string{"own-replicasets", "own-deployments", "system-workloads"}},
		"endpoints":                     {[]change{installtest.AboutRequests(update, "discovery.k8s.io", "endpointslices")}, nil, []string{"own-services", "system-workloads"}},
		"tokens":                        {[]change{installtest.AboutRequests(create, "", "serviceaccounts/token")}, nil, []string{"own-accounts", "system-workloads"}},
		"leases":                        {[]change{installtest.AboutRequests(update, "coordination.k8s.io", "leases")}, nil, []string{"own-leases", "node-leases", "system-leases"}},
		"nodes":                         {[]change{installtest.AboutRequests(update, "", "nodes/status")}, nil, []string{"nodes"}},
		"nodes, of a narrow group":      {[]change{installtest.AboutRequests(update, "", "nodes")}, installtest.Targeting("red"), []string{"nodes"}},
		"Namespaces":                    {[]change{installtest.AboutRequests(update, "", "namespaces")}, nil, []string{"manager-writes"}},
		"the making of Namespaces":      {[]change{installtest.AboutRequests(create, "", "namespaces")}, nil, nil},
		"the question who one is":       {[]change{installtest.AboutRequests(create, "authentication.k8s.io", "selfsubjectreviews")}, nil, []string{"manager-writes"}},
		"the same, of a narrow group":   {[]change{installtest.AboutRequests(everything, "authentication.k8s.io", "*")}, installtest.Targeting("red"), []string{"manager-writes"}},
		"whose a token is":              {[]change{installtest.AboutRequests(create, "authentication.k8s.io", "tokenreviews")}, nil, nil},
		"the question, with a label":    {[]change{installtest.AboutRequests(create, "authentication.k8s.io", "selfsubjectreviews"), installtest.OfObjects(exists("app", metav1.LabelSelectorOpExists))}, nil, nil},
		"volume claims":                 {[]change{installtest.AboutRequests(create, "", "persistentvolumeclaims")}, nil, []string{"own-volumes"}},
		"volume claims, elsewhere":      {[]change{installtest.AboutRequests(create, "", "persistentvolumeclaims")}, installtest.Targeting("red"), nil},
		"attached volumes":              {[]change{installtest.AboutRequests(create, "storage.k8s.io", "*")}, installtest.Targeting("red"), []string{"nodes", "volume-attachments"}},
		"the binding of volumes":        {[]change{installtest.AboutRequests(update, "", "persistentvolumes")}, installtest.Targeting("red"), []string{"own-bound-volumes"}},
		"claims of devices":             {[]change{installtest.AboutRequests(update, "resource.k8s.io", "resourceclaims/status")}, nil, []string{"own-devices"}},
		"claims of devices, elsewhere":  {[]change{installtest.AboutRequests(everything, "resource.k8s.io", "*/*")}, installtest.Targeting("red"), nil},
		"certificates of nodes":         {[]change{installtest.AboutRequests(create, "certificates.k8s.io", "certificatesigningrequests")}, installtest.Targeting("red"), []string{"node-certificates"}},
		"their approval":                {[]change{installtest.AboutRequests(update, "certificates.k8s.io", "certificatesigningrequests/approval")}, nil, []string{"node-certificates"}},
		"Roles":                         {[]change{installtest.AboutRequests(create, "rbac.authorization.k8s.io", "roles")}, nil, []string{"own-certificates", "own-permissions"}},
		"RoleBindings, elsewhere":       {[]change{installtest.AboutRequests(update, "rbac.authorization.k8s.io", "rolebindings")}, installtest.Targeting("red"), []string{"own-permissions"}},
		"ClusterRoles":                  {[]change{installtest.AboutRequests(update, "rbac.authorization.k8s.io", "clusterroles")}, installtest.Targeting("red"), []string{"own-permissions"}},
		"cert-manager's orders":         {[]change{installtest.AboutRequests(update, Orders[0].Group, "*")}, nil, []string{"own-orders"}},
		"its orders, elsewhere":         {[]change{installtest.AboutRequests(update, Orders[0].Group, "certificates")}, installtest.Targeting("red"), nil},
		"its requests, all its own":     {[]change{installtest.AboutRequests(everything, Orders[0].Group, "certificaterequests")}, nil, nil},
		"cluster IPs, in any scope":     {[]change{installtest.AboutRequests(create, "networking.k8s.io", "ipaddresses")}, installtest.Targeting("red"), []string{"own-addresses"}},
		"cluster IPs and their range":   {[]change{installtest.AboutRequests(everything, "networking.k8s.io", "*")}, nil, []string{"own-addresses", "cluster-addresses"}},
		"the range of cluster IPs":      {[]change{installtest.AboutRequests(update, "networking.k8s.io", "servicecidrs/status")}, nil, []string{"cluster-addresses"}},
		"network policies":              {[]change{installtest.AboutRequests(create, "networking.k8s.io", "networkpolicies", "ingresses")}, nil, nil},
		"APIServices, of none":          {[]change{installtest.AboutRequests(everything, "apiregistration.k8s.io", "*")}, nil, nil},
		"a resource of its own":         {[]change{installtest.AboutRequests(everything, "shop.example.com", "orders")}, nil, nil},

		"a group of another namespace":         {[]change{pods}, installtest.Targeting("red"), nil},
		"a group of its own namespace":         {[]change{pods}, installtest.Targeting("shop"), []string{"own-pods"}},
		"a group that selects":                 {[]change{pods}, bySelector, []string{"own-pods", "system-workloads"}},
		"namespaced objects":                   {[]change{installtest.AboutRequests(update, "", "pods", "nodes"), installtest.InScope(admissionregistrationv1.NamespacedScope)}, nil, []string{"own-pods", "system-workloads"}},
		"cluster-scoped objects":               {[]change{installtest.AboutRequests(update, "", "pods", "nodes"), installtest.InScope(admissionregistrationv1.ClusterScope)}, nil, []string{"nodes"}},
		"fails open":                           {[]change{pods, func(d *operatorsv1alpha1.WebhookDescription) { d.FailurePolicy = new(admissionregistrationv1.Ignore) }}, nil, nil},
		"conversion":                           {[]change{pods, func(d *operatorsv1alpha1.WebhookDescription) { d.Type = operatorsv1alpha1.ConversionWebhook }}, nil, nil},
		"objects of another label value":       {[]change{pods, installtest.OfObjects(metav1.LabelSelector{MatchLabels: map[string]string{"app": "other"}})}, nil, []string{"system-workloads"}},
		"objects without the pods' label":      {[]change{pods, installtest.OfObjects(exists("app", metav1.LabelSelectorOpDoesNotExist))}, nil, []string{"system-workloads"}},
		"objects with the pods' label":         {[]change{pods, installtest.OfObjects(exists("app", metav1.LabelSelectorOpExists))}, nil, []string{"own-pods", "system-workloads"}},
		"objects with a label that may come":   {[]change{pods, installtest.OfObjects(exists("pod-template-hash", metav1.LabelSelectorOpExists))}, nil, []string{"own-pods", "system-workloads"}},
		"bindings have no label":               {[]change{installtest.AboutRequests(create, "", "pods/binding"), installtest.OfObjects(exists("app", metav1.LabelSelectorOpExists))}, nil, nil},
		"bindings match what excludes a label": {[]change{installtest.AboutRequests(create, "", "pods/binding"), installtest.OfObjects(exists("app", metav1.LabelSelectorOpDoesNotExist))}, nil, []string{"own-pods", "system-workloads"}},
	} {
		t.Run(name, func(t *testing.T) {
			in := guardedBy(installtest.ServedBy("manager", test.webhook...))
			if test.group != nil {
				in = guardedBy(installtest.ServedBy("manager", test.webhook...), test.group)
			}
			got := lists.Map(For(in)(in.CSV.Spec.WebhookDefinitions[0]), func(e Exemption) string { return e.Name })
			installtest.Same(t, "exemptions", test.want, got)
		})
	}
}

// The Deployments that serve no webhook may come before the others.
func TestSelfDeadlocksOfOtherDeployments(t *testing.T) {
	d := installtest.ServedBy("manager", installtest.AboutRequests(admissionregistrationv1.Create, "apps", "deployments"))
	in := guardedBy(d, installtest.Targeting("shop"))
	in.CSV.Spec.InstallStrategy.StrategySpec.DeploymentSpecs = installtest.Deployments(installtest.DeploymentOf("plain"), installtest.DeploymentOf("manager"))
	got := lists.Map(For(in)(d), func(e Exemption) string { return e.Name })
	installtest.Same(t, "exemptions", []string{"own-deployments", "other-deployments"}, got)
	matcher := matcherOf(conditionsOf(in))
	for name, test := range map[string]struct {
		call
		called bool
	}{
		"created by the manager":              {call{name: "plain", user: installtest.ManagerUser}, false},
		"repaired by the manager":             {call{name: "plain", operation: admission.Update, user: installtest.ManagerUser}, false},
		"created by the manager, elsewhere":   {call{name: "plain", namespace: "red", user: installtest.ManagerUser}, true},
		"another one, created by the manager": {call{name: "other", user: installtest.ManagerUser}, true},
		"created by a tenant":                 {call{name: "plain", user: tenant}, true},
		"its status, by a controller":         {call{name: "plain", subresource: "status", operation: admission.Update, user: "system:kube-controller-manager"}, true},
		"its ReplicaSet":                      {call{resource: "replicasets", object: controlledBy("Deployment", "plain"), user: "system:kube-controller-manager"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			test.group = "apps"
			if test.resource == "" {
				test.resource = "deployments"
			}
			installtest.Same(t, "the webhook is called", test.called, calls(t, matcher, test.filled()))
		})
	}
}

// The registration of an APIService is an exempted request of its owner.
func TestSelfDeadlocksOfAPIServices(t *testing.T) {
	for name, test := range map[string]struct {
		resource string
		group    []func(*operatorsv1.OperatorGroup)
		want     []string
	}{
		"registered":            {"apiservices", nil, []string{"own-apiservices"}},
		"reported as existing":  {"apiservices/status", nil, []string{"own-apiservices"}},
		"of a narrow group":     {"*", []func(*operatorsv1.OperatorGroup){installtest.Targeting("red")}, []string{"own-apiservices"}},
		"something in addition": {"others", nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			d := installtest.ServedBy("manager", installtest.AboutRequests(admissionregistrationv1.Update, "apiregistration.k8s.io", test.resource))
			in := guardedBy(d, test.group...)
			in.CSV.Spec.APIServiceDefinitions.Owned = owningPonds("manager")
			got := lists.Map(For(in)(d), func(e Exemption) string { return e.Name })
			installtest.Same(t, "exemptions", test.want, got)
		})
	}
}

// owningPonds are an owned version of a group, which a Deployment serves.
func owningPonds(deployment string) []operatorsv1alpha1.APIServiceDescription {
	return []operatorsv1alpha1.APIServiceDescription{{Group: "ponds.example.com", Version: "v1", Kind: "Pond", DeploymentName: deployment}}
}

// A manager that does not know who it is exempts no request of its own.
func TestSelfDeadlocksOfAManagerWithoutAName(t *testing.T) {
	in := guardedBy(installtest.ServedBy("manager", installtest.AboutRequests(admissionregistrationv1.Update, "", "namespaces")))
	in.Manager = ""
	installtest.Same(t, "the number of exemptions", 0, len(For(in)(in.CSV.Spec.WebhookDefinitions[0])))
}

func TestSelfDeadlocksAnywhere(t *testing.T) {
	for name, test := range map[string]struct {
		modes []operatorsv1alpha1.InstallMode
		want  int
	}{
		"all namespaces":             {[]operatorsv1alpha1.InstallMode{{Type: operatorsv1alpha1.InstallModeTypeAllNamespaces, Supported: true}}, 2},
		"its own namespace":          {[]operatorsv1alpha1.InstallMode{{Type: operatorsv1alpha1.InstallModeTypeOwnNamespace, Supported: true}}, 1},
		"all namespaces unsupported": {[]operatorsv1alpha1.InstallMode{{Type: operatorsv1alpha1.InstallModeTypeAllNamespaces}}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			csv := installtest.Operator(installtest.Deployments(installtest.DeploymentOf("manager")), installtest.ServedBy("manager", installtest.AboutRequests(admissionregistrationv1.Create, "", "pods")))
			csv.Spec.InstallModes = test.modes
			installtest.Same(t, "the number of exemptions", test.want, len(ForWidestScope(csv)(csv.Spec.WebhookDefinitions[0])))
		})
	}
}
