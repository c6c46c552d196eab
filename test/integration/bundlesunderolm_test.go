package integration

import (
	"context"
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	bundlepkg "github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/permissions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmoperator/roles/clusterrole"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// bundleUnderOLM is a bundle in a namespace of its own, as olm-operator has installed it.
type bundleUnderOLM struct {
	*env

	csv  string
	spec operatorsv1alpha1.ClusterServiceVersionSpec
}

func (b *bundleUnderOLM) deployments() []string {
	return lists.Map(b.spec.InstallStrategy.StrategySpec.DeploymentSpecs, func(d operatorsv1alpha1.StrategyDeploymentSpec) string { return d.Name })
}

// newTakeoverOfBundles has the bundles in these folders, in the form of olm-operator, and a manager with --with-olm for all
// namespaces. One server answers all webhooks.
func newTakeoverOfBundles(t *testing.T, folders ...string) (*takeoverEnv, []*bundleUnderOLM) {
	t.Helper()
	e := newEmptyTakeoverEnv(t)
	defineOperators(e.env)
	reportedByOLM(e.env)
	server := answersAll(e.env)
	var all []*bundleUnderOLM
	for _, folder := range folders {
		b := installtest.OrPanic(bundlepkg.Open(e.ctx, folder, bundlepkg.Registry{}))
		if installed := bundleInstalledByOLM(e.env, b, server); installed != nil {
			all = append(all, installed)
		}
	}
	return e, all
}

// newEmptyTakeoverEnv has no operator yet, and a manager with --with-olm for all namespaces.
func newEmptyTakeoverEnv(t *testing.T) *takeoverEnv {
	t.Helper()
	e := &takeoverEnv{env: operating(newEnv(t), allNamespaces)}
	removeOtherOperators(e.env)
	e.programs()
	config := grantedTo(e.env, "manager/clusterrole.yaml", "lift-roles/clusterrole.yaml", "with-olm/clusterrole.yaml")
	e.start = func() *manager {
		return manageWith(e.env, rest.CopyConfig(config), inPlaceOfOLM, func(o *controller.Options) { o.LiftRoles, o.WithOLM, o.Namespaces = true, true, nil })
	}
	return e
}

// bundleInstalledByOLM returns nil for a bundle whose ClusterServiceVersion the API server refuses.
func bundleInstalledByOLM(test *env, b *bundlepkg.Bundle, server net.Listener) *bundleUnderOLM {
	test.Helper()
	e := neighbour(test)
	var targets []string
	if !b.Supports(operatorsv1alpha1.InstallModeTypeAllNamespaces) {
		targets = []string{e.namespace}
	}
	c := b.CSV.DeepCopy()
	c.Namespace, c.Spec.Replaces = e.namespace, ""
	if _, err := e.olm.ClusterServiceVersions(e.namespace).Create(e.ctx, c, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); apierrors.IsInvalid(err) {
		e.Logf("%s is refused: %v", c.Name, err)
		return nil
	}
	group := operating(e, operatorsv1.OperatorGroupSpec{TargetNamespaces: targets})
	for _, crd := range slices.Concat(b.CRDs(), requiredCRDs(b)) {
		definedTemporarily(e, crd)
	}
	grantedByCatalog(e, c, targets)
	c = installedByOLM(e, c, "")
	for _, spec := range csvspec.Deployments(c) {
		if len(csvspec.Descriptions(c, spec.Name)) > 0 {
			delegatedByOLM(e, c, spec)
			isBehind(e, names.Service(spec.Name), server)
		}
	}
	conditionByOLM(e, c)
	rolesOfAPIsByOLM(e, c)
	reportedByOLM(group, c)
	return &bundleUnderOLM{env: e, csv: c.Name, spec: c.Spec}
}

// rolesOfAPIsByOLM creates the ClusterRoles for users of the definitions that a version owns.
func rolesOfAPIsByOLM(e *env, c *operatorsv1alpha1.ClusterServiceVersion) {
	e.Helper()
	owned := lists.Unique(c.Spec.CustomResourceDefinitions.Owned, func(d operatorsv1alpha1.CRDDescription) string { return d.Name + " " + d.Version })
	for _, d := range owned {
		crd := kube.Get(e, extensions(e).ApiextensionsV1().CustomResourceDefinitions(), d.Name)
		for _, role := range clusterrole.OfDefinition(crd, d.Version) {
			createUntilDeleted(e, e.kube.RbacV1().ClusterRoles(), role)
		}
	}
}

// reportedByOLM writes what olm-operator writes of a group.
func reportedByOLM(e *env, versions ...*operatorsv1alpha1.ClusterServiceVersion) {
	e.Helper()
	client := e.olm.OperatorGroups(e.namespace)
	group := kube.Get(e, client, "og")
	metav1.SetMetaDataAnnotation(&group.ObjectMeta, operatorsv1.OperatorGroupProvidedAPIsAnnotationKey, scope.ProvidedAPIs(group, versions))
	for _, role := range clusterrole.OfGroup(e.namespace, "og", scope.AnnotatedAPIs(group)) {
		createUntilDeleted(e, e.kube.RbacV1().ClusterRoles(), role)
	}
	group = installtest.OrPanic(client.Update(e.ctx, group, metav1.UpdateOptions{FieldManager: olmWriter}))
	targets := group.Spec.TargetNamespaces
	if len(targets) == 0 {
		targets = []string{metav1.NamespaceAll}
	} else {
		key, value, err := group.OGLabelKeyAndValue()
		e.must(err)
		kube.Patch(e, e.kube.CoreV1().Namespaces(), e.namespace, types.MergePatchType, []byte(`{"metadata":{"labels":{"`+key+`":"`+value+`"}}}`))
	}
	group.Status = operatorsv1.OperatorGroupStatus{Namespaces: targets, LastUpdated: new(metav1.Now())}
	installtest.OrPanic(client.UpdateStatus(e.ctx, group, metav1.UpdateOptions{FieldManager: olmWriter}))
}

// delegatedByOLM binds the account of a Deployment to the roles for servers of APIServices, as olm-operator does for each
// server.
func delegatedByOLM(e *env, c *operatorsv1alpha1.ClusterServiceVersion, spec operatorsv1alpha1.StrategyDeploymentSpec) {
	e.Helper()
	usual := permissions.UsualDelegation(names.Service(spec.Name))
	managed := labels.Set{wellknown.LabelManaged: "true"}
	createUntilDeleted(e, e.kube.RbacV1().ClusterRoleBindings(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: usual.Delegator, Labels: labels.Merge(csvspec.OwnerLabels(c), managed)}, Subjects: accountOf(e, spec),
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "system:auth-delegator"},
	})
	createUntilDeleted(e, e.kube.RbacV1().RoleBindings(metav1.NamespaceSystem), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: usual.Reader, Labels: managed}, Subjects: accountOf(e, spec),
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "extension-apiserver-authentication-reader"},
	})
}

// createUntilDeleted creates an object that the manager may delete before the test ends.
func createUntilDeleted[O metav1.Object](e *env, client interface {
	Create(ctx context.Context, object O, options metav1.CreateOptions) (O, error)
	Delete(ctx context.Context, name string, options metav1.DeleteOptions) error
}, object O) {
	e.Helper()
	installtest.OrPanic(client.Create(e.ctx, object, byOLM))
	e.Cleanup(func() {
		if err := client.Delete(context.WithoutCancel(e.ctx), object.GetName(), metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
			e.must(err)
		}
	})
}

// conditionByOLM creates the OperatorCondition of a version, and what its operator may do with it.
func conditionByOLM(e *env, c *operatorsv1alpha1.ClusterServiceVersion) {
	e.Helper()
	var accounts []string
	strategy := c.Spec.InstallStrategy.StrategySpec
	for _, p := range slices.Concat(strategy.ClusterPermissions, strategy.Permissions) {
		accounts = append(accounts, p.ServiceAccountName)
	}
	if accounts = lists.Distinct(accounts); len(accounts) == 0 {
		accounts = []string{"default"}
	}
	owner := metav1.OwnerReference{
		APIVersion: operatorsv1alpha1.SchemeGroupVersion.String(), Kind: operatorsv1alpha1.ClusterServiceVersionKind, Name: c.Name, UID: c.UID,
		Controller: new(true), BlockOwnerDeletion: new(false),
	}
	object := installtest.OrPanic(runtime.DefaultUnstructuredConverter.ToUnstructured(&operatorsv2.OperatorCondition{
		TypeMeta:   metav1.TypeMeta{APIVersion: operatorsv2.GroupVersion.String(), Kind: "OperatorCondition"},
		ObjectMeta: metav1.ObjectMeta{Name: c.Name, OwnerReferences: []metav1.OwnerReference{owner}},
		Spec:       operatorsv2.OperatorConditionSpec{ServiceAccounts: accounts, Deployments: csvspec.DeploymentNames(c)},
	}))
	created := installtest.OrPanic(e.any.Resource(operatorsv2.GroupVersion.WithResource("operatorconditions")).Namespace(e.namespace).Create(e.ctx, &unstructured.Unstructured{Object: object}, byOLM))
	owner.APIVersion, owner.Kind, owner.UID = operatorsv2.GroupVersion.String(), "OperatorCondition", created.GetUID()
	meta := metav1.ObjectMeta{Name: c.Name, Labels: map[string]string{wellknown.LabelManaged: "true"}, OwnerReferences: []metav1.OwnerReference{owner}}
	installtest.OrPanic(e.kube.RbacV1().Roles(e.namespace).Create(e.ctx, &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
		{Verbs: []string{"get", "update", "patch"}, APIGroups: []string{operatorsv2.GroupVersion.Group}, Resources: []string{"operatorconditions"}, ResourceNames: []string{c.Name}},
	}}, byOLM))
	subjects := lists.Map(accounts, func(name string) rbacv1.Subject { return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Name: name} })
	installtest.OrPanic(e.kube.RbacV1().RoleBindings(e.namespace).Create(e.ctx, &rbacv1.RoleBinding{
		ObjectMeta: meta, Subjects: subjects, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: c.Name},
	}, byOLM))
}

// grantedByCatalog does the part of catalog-operator: accounts and permissions.
func grantedByCatalog(e *env, c *operatorsv1alpha1.ClusterServiceVersion, targets []string) {
	e.Helper()
	for _, account := range csvspec.ServiceAccounts(c) {
		kube.Create(e, e.kube.CoreV1().ServiceAccounts(e.namespace), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: account}})
	}
	strategy := c.Spec.InstallStrategy.StrategySpec
	everywhere := strategy.ClusterPermissions
	if len(targets) == 0 {
		everywhere = slices.Concat(everywhere, strategy.Permissions)
	}
	grants := func(p operatorsv1alpha1.StrategyDeploymentPermissions) (metav1.ObjectMeta, []rbacv1.Subject) {
		return metav1.ObjectMeta{GenerateName: c.Name + "-"}, []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: e.namespace, Name: p.ServiceAccountName}}
	}
	for _, p := range everywhere {
		meta, subjects := grants(p)
		role := kube.CreateTemporary(e, e.kube.RbacV1().ClusterRoles(), &rbacv1.ClusterRole{ObjectMeta: meta, Rules: p.Rules})
		kube.CreateTemporary(e, e.kube.RbacV1().ClusterRoleBindings(), &rbacv1.ClusterRoleBinding{
			ObjectMeta: meta, Subjects: subjects, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		})
	}
	if len(targets) == 0 {
		return
	}
	for _, p := range strategy.Permissions {
		meta, subjects := grants(p)
		role := kube.Create(e, e.kube.RbacV1().Roles(e.namespace), &rbacv1.Role{ObjectMeta: meta, Rules: p.Rules})
		kube.Create(e, e.kube.RbacV1().RoleBindings(e.namespace), &rbacv1.RoleBinding{
			ObjectMeta: meta, Subjects: subjects, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
		})
	}
}

// definedTemporarily creates a definition that another bundle may have brought.
func definedTemporarily(e *env, crd *apiextensionsv1.CustomResourceDefinition) {
	e.Helper()
	client := extensions(e).ApiextensionsV1().CustomResourceDefinitions()
	if _, err := client.Get(e.ctx, crd.Name, metav1.GetOptions{}); err == nil {
		return
	}
	kube.CreateTemporary(e, client, crd)
	e.must(kube.WaitUntilServed(e.ctx, extensions(e), crd.Name))
}

// requiredCRDs are definitions that other operators bring. What they define does not matter here.
func requiredCRDs(b *bundlepkg.Bundle) (all []*apiextensionsv1.CustomResourceDefinition) {
	for _, d := range b.CSV.Spec.CustomResourceDefinitions.Required {
		version := apiextensionsv1.CustomResourceDefinitionVersion{
			Name: d.Version, Served: true, Storage: true,
			Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object"}},
		}
		plural, group, _ := strings.Cut(d.Name, ".")
		all = append(all, &apiextensionsv1.CustomResourceDefinition{ObjectMeta: named(d.Name), Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group, Scope: apiextensionsv1.NamespaceScoped, Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: plural, Kind: d.Kind},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{version},
		}})
	}
	return lists.Unique(all, func(crd *apiextensionsv1.CustomResourceDefinition) string { return crd.Name })
}

// answersAll permits every request. It presents the certificate in the Secret of the Service that is called.
func answersAll(e *env) net.Listener {
	e.Helper()
	listener := listen(e)
	certificate := func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		name := strings.Split(hello.ServerName, ".") // SERVICE.NAMESPACE.svc
		if len(name) < 2 {
			return nil, nil
		}
		secret, err := e.kube.CoreV1().Secrets(name[1]).Get(context.Background(), names.Secret(name[0]), metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		pair, err := tls.X509KeyPair(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey])
		return &pair, err
	}
	server := &http.Server{Handler: http.HandlerFunc(permit), ErrorLog: log.New(io.Discard, "", 0), TLSConfig: &tls.Config{GetCertificate: certificate}}
	go func() { _ = server.ServeTLS(listener, "", "") }() // it ends with the test
	e.Cleanup(func() { _ = server.Close() })
	return listener
}

// isBehind has a server answer all ports of a Service.
func isBehind(e *env, service string, l net.Listener) {
	e.Helper()
	address := l.Addr().(*net.TCPAddr)
	var ports []discoveryv1.EndpointPort
	for _, p := range kube.Get(e, e.kube.CoreV1().Services(e.namespace), service).Spec.Ports {
		ports = append(ports, discoveryv1.EndpointPort{Name: &p.Name, Port: new(int32(address.Port))})
	}
	kube.Create(e, e.kube.DiscoveryV1().EndpointSlices(e.namespace), &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: service, Labels: map[string]string{discoveryv1.LabelServiceName: service}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{address.IP.String()}, Conditions: discoveryv1.EndpointConditions{Ready: new(true)}}},
		Ports:       ports,
	})
}
