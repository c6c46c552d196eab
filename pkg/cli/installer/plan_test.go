package installer

import (
	"errors"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/deploy"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func rbacObject(kind, namespace, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{}}
	o.SetGroupVersionKind(rbacv1.SchemeGroupVersion.WithKind(kind))
	o.SetNamespace(namespace)
	o.SetName(name)
	return o
}

func bindingTo(kind, name string) *unstructured.Unstructured {
	o := rbacObject("RoleBinding", "mall", "binding")
	o.Object["roleRef"] = map[string]any{"kind": kind, "name": name}
	return o
}

// A role that does not exist is accepted only where the bundle brings it.
func TestRolesOfTheBundle(t *testing.T) {
	p := Plan{Installation: Installation{Manifests: []*unstructured.Unstructured{rbacObject("Role", "mall", "shop"), rbacObject("Role", "street", "stock"), rbacObject("ClusterRole", "", "shops")}}}
	absent := apierrors.NewNotFound(schema.GroupResource{Group: rbacv1.GroupName, Resource: "roles"}, "shop")
	for name, test := range map[string]struct {
		o    *unstructured.Unstructured
		err  error
		want bool
	}{
		"a Role of the bundle":        {bindingTo("Role", "shop"), absent, true},
		"a ClusterRole of the bundle": {bindingTo("ClusterRole", "shops"), absent, true},
		"a Role without a subject":    {bindingTo("Role", "other"), absent, false},
		"a Role elsewhere":            {bindingTo("Role", "stock"), absent, false},
		"another kind of that name":   {bindingTo("ClusterRole", "shop"), absent, false},
		"another error":               {bindingTo("Role", "shop"), errors.New("refused"), false},
	} {
		installtest.Same(t, name, test.want, p.createsRoleOf(test.o, test.err))
	}
}

// Nothing is installed that was not checked and confirmed.
func TestUnconfirmedPlan(t *testing.T) {
	c := &Installer{}
	_, err := c.Install(t.Context(), Confirmed{})
	installtest.Error(t, "was not checked", err)

	asked := false
	refused := Plan{steps: []deploy.Step{{}}, refused: []error{errors.New("invalid")}}
	_, err = refused.Confirm(func() error { asked = true; return nil })
	installtest.Error(t, "invalid", err)
	installtest.Same(t, "the question about a refused plan is asked", false, asked)

	agreed, err := Plan{steps: []deploy.Step{{}}}.Confirm(func() error { return errors.New("no") })
	installtest.Error(t, "no", err)
	installtest.Same(t, "steps of a plan that was not confirmed", 0, len(agreed.plan.steps))
}
