package write

import (
	"errors"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

// The error names the permission, the place and the account. Only a lack of permissions is explained.
func TestExplain(t *testing.T) {
	installer := scope.Installer{Namespace: "shop", Name: "installer", Group: "og", Exists: true}
	deployments := schema.GroupResource{Group: "apps", Resource: "deployments"}
	for name, test := range map[string]struct {
		cause     string
		want      string
		installer bool
	}{
		"in a namespace": {
			`User "system:serviceaccount:shop:installer" cannot create resource "deployments" in API group "apps" in the namespace "shop"`,
			"ServiceAccount shop/installer of OperatorGroup og may not create deployments of apps in namespace shop: grant it to the account", true,
		},
		"of the core group": {
			`User "system:serviceaccount:shop:installer" cannot patch resource "services" in API group "" in the namespace "shop"`,
			"ServiceAccount shop/installer of OperatorGroup og may not patch services in namespace shop: grant it to the account", true,
		},
		"of the cluster": {
			`User "system:serviceaccount:shop:installer" cannot create resource "validatingwebhookconfigurations" in API group "admissionregistration.k8s.io" at the cluster scope`,
			"ServiceAccount shop/installer of OperatorGroup og may not create validatingwebhookconfigurations of admissionregistration.k8s.io in the whole cluster: grant it to the account", true,
		},
		"permissions that it does not have": {
			`user "system:serviceaccount:shop:installer" (groups=["system:authenticated"]) is attempting to grant RBAC permissions not currently held:` + "\n" + `{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}`,
			`ServiceAccount shop/installer of OperatorGroup og may not grant permissions that it does not have: grant them to the account: {APIGroups:[""], Resources:["secrets"], Verbs:["get"]}`, true,
		},
		"the manager may not impersonate": {
			`User "manager" cannot impersonate resource "serviceaccounts" in API group "" in the namespace "shop"`,
			"the manager may not impersonate ServiceAccount shop/installer of OperatorGroup og: apply manifests/with-olm", true,
		},
		"a quota": {"exceeded quota: few", `deployments.apps "server" is forbidden: exceeded quota: few`, false},
	} {
		t.Run(name, func(t *testing.T) {
			err := explain(installer, apierrors.NewForbidden(deployments, "server", errors.New(test.cause)))
			var explained *InstallerError
			installtest.Error(t, test.want, err)
			installtest.Same(t, "it is about the installer", test.installer, errors.As(err, &explained))
			installtest.Same(t, "it is refused", true, IsRefused(err))
		})
	}
	conflict := apierrors.NewConflict(deployments, "server", errors.New("changed"))
	installtest.ErrorIs(t, conflict, explain(installer, conflict))
	for _, installer := range []scope.Installer{{Namespace: "shop", Name: "installer", Impersonated: true}, {Namespace: "shop", Name: "installer", Exists: true}} {
		s := &Sender{Writer: &Writer{}, Installer: installer}
		_, _, err := s.Send(t.Context(), "shop", rollout.Step{Verb: rollout.Create, Object: &appsv1.Deployment{}})
		installtest.Error(t, installer.Obstacle(), err)
		installtest.Same(t, "a write for an account that is not used is refused", true, IsRefused(err))
	}
}
