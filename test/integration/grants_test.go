package integration

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	bundlepkg "github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// What an installation grants in the namespaces that an operator watches is deleted with its version,
// when that is replaced and when it is uninstalled. Nothing else of these namespaces does.
func TestGrantsAreDeletedWithTheirVersion(t *testing.T) {
	e := newParallelEnv(t)
	other := newNamespace(e, "", nil)
	crd := newCRD(e, "locks", "v1")
	crd.APIVersion, crd.Kind, crd.ResourceVersion, crd.UID = "apiextensions.k8s.io/v1", "CustomResourceDefinition", "", ""
	e.runDeployments()
	manageThrough(e, grantedTo(e, "manager/clusterrole.yaml"))
	defer bindRoleIn(e, other, "bystander")()
	version := func(name, replaces string) *bundlepkg.Bundle {
		c := asking(csv(name, "server"), readPods)
		c.Spec.Replaces = replaces
		return e.bundleOf(crd, c)
	}
	granted := func(want ...string) {
		t.Helper()
		e.eventually("there are only the grants of "+strings.Join(want, ", "), func() (bool, any) {
			got := granted(e, "operator.v1", "operator.v2")
			return slices.Equal(got, want), got
		})
	}
	all := func(version string) []string {
		lines := []string{"Role " + e.namespace + " " + version, "Role " + other + " " + version, "RoleBinding " + e.namespace + " " + version, "RoleBinding " + other + " " + version}
		slices.Sort(lines)
		return lines
	}
	installing(e, version("operator.v1", ""), patience, e.namespace, other).ends()
	granted(all("operator.v1")...)
	installing(e, version("operator.v2", "operator.v1"), patience, e.namespace, other).ends()
	e.eventually("the old version no longer exists", func() (bool, any) { return isGone(e, "operator.v1"), nil })
	granted(all("operator.v2")...)
	e.uninstall("operator.v2")
	granted()
	kube.Get(e, e.kube.RbacV1().Roles(other), "bystander")
}

// granted are the Roles, and the RoleBindings, by which an installation lets the account of some
// versions do what they ask for: where each is, and whose.
func granted(e *env, versions ...string) []string {
	e.Helper()
	roles := kube.List(e, e.kube.RbacV1().Roles(metav1.NamespaceAll), metav1.ListOptions{})
	bindings := kube.List(e, e.kube.RbacV1().RoleBindings(metav1.NamespaceAll), metav1.ListOptions{})
	var found []string
	note := func(kind string, o metav1.ObjectMeta) {
		for _, version := range versions {
			if o.Name == names.Permissions(e.namespace, version, "account") {
				found = append(found, kind+" "+o.Namespace+" "+version)
			}
		}
	}
	for _, o := range roles.Items {
		note("Role", o.ObjectMeta)
	}
	for _, o := range bindings.Items {
		note("RoleBinding", o.ObjectMeta)
	}
	slices.Sort(found)
	return found
}
