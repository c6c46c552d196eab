package integration

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

const requirementsNotMet = "one or more requirements couldn't be found"

func needs(c *operatorsv1alpha1.ClusterServiceVersion, serviceAccount string) *operatorsv1alpha1.ClusterServiceVersion {
	c.Spec.InstallStrategy.StrategySpec.Permissions = []operatorsv1alpha1.StrategyDeploymentPermissions{{ServiceAccountName: serviceAccount, Rules: []rbacv1.PolicyRule{}}}
	return c
}

func serviceAccount(e *env, account *corev1.ServiceAccount) *corev1.ServiceAccount {
	e.Helper()
	return kube.Create(e, e.kube.CoreV1().ServiceAccounts(e.namespace), account)
}

func TestMissingServiceAccount(t *testing.T) {
	e := newEnv(t)
	e.group("og", allNamespaces)
	e.manage()
	e.create(needs(csv("operator.v1", "server"), "account"))
	e.isUnmet("account")
	want := operatorsv1alpha1.RequirementStatus{Version: "v1", Kind: "ServiceAccount", Name: "account", Status: operatorsv1alpha1.RequirementStatusReasonNotPresent}
	requires(e, want)

	account := serviceAccount(e, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "account"}})
	e.reaches("operator.v1", operatorsv1alpha1.CSVPhaseInstalling, operatorsv1alpha1.CSVReasonWaiting)
	want.Status, want.UUID = operatorsv1alpha1.RequirementStatusReasonPresent, string(account.UID)
	requires(e, want)
}

// requires compares the only requirement of operator.v1, without the message, which is for people, and what needs it.
func requires(e *env, want operatorsv1alpha1.RequirementStatus) {
	e.Helper()
	got := e.get("operator.v1").Status.RequirementStatus
	ignored := cmpopts.IgnoreFields(want, "Message", "Dependents")
	same(e, "status.requirementStatus", got, []operatorsv1alpha1.RequirementStatus{want}, ignored)
}

// Each is held before anything of it is installed, and continues once it is repaired.
func TestUnmetRequirements(t *testing.T) {
	for name, test := range map[string]struct {
		spoil   func(*env, *operatorsv1alpha1.ClusterServiceVersion)
		want    operatorsv1alpha1.RequirementStatus
		message string
		fix     func(*operatorsv1alpha1.ClusterServiceVersion)
	}{
		"a webhook names a Deployment that is not there": {
			spoil: func(_ *env, c *operatorsv1alpha1.ClusterServiceVersion) {
				c.Spec.WebhookDefinitions[0].DeploymentName = "sever"
			},
			want: operatorsv1alpha1.RequirementStatus{
				Group: "apps", Version: "v1", Kind: "Deployment", Name: "sever", Status: operatorsv1alpha1.RequirementStatusReasonNotPresent,
			},
			message: "set spec.webhookdefinitions[0].deploymentName to one of server",
			fix: func(c *operatorsv1alpha1.ClusterServiceVersion) {
				c.Spec.WebhookDefinitions[0].DeploymentName = "server"
			},
		},
		"another operator's ServiceAccount": {
			spoil: func(e *env, c *operatorsv1alpha1.ClusterServiceVersion) {
				needs(c, "account")
				serviceAccount(e, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "account", OwnerReferences: []metav1.OwnerReference{
					{APIVersion: "operators.coreos.com/v1alpha1", Kind: "ClusterServiceVersion", Name: "other.v1", UID: "0"},
				}}})
			},
			want: operatorsv1alpha1.RequirementStatus{
				Version: "v1", Kind: "ServiceAccount", Name: "account", Status: operatorsv1alpha1.RequirementStatusReasonPresentNotSatisfied,
			},
			message: "owned by another ClusterServiceVersion",
			fix: func(c *operatorsv1alpha1.ClusterServiceVersion) {
				c.Spec.InstallStrategy.StrategySpec.Permissions = nil
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newOperatorEnv(t)
			m := e.manage()
			c := csv("operator.v1", "server")
			test.spoil(e, c)
			e.create(c)
			e.isUnmet(test.message)
			requires(e, test.want)
			m.looksAgain("operator.v1")
			registersNothing(e)
			same(t, "the operator's Deployment", e.deployment("server"), nil)
			r := e.rollout("operator.v1")
			same(t, "ready webhooks", r.ReadyRegistrations, 0)
			same(t, "webhooks", r.Registrations, 1)
			e.edit("operator.v1", test.fix)
			e.succeeds("operator.v1")
		})
	}
}

func TestRequiredAPIs(t *testing.T) {
	for name, test := range map[string]struct {
		require func(c *operatorsv1alpha1.ClusterServiceVersion, group string)
		provide func(e *env, group string)
		want    func(group string) operatorsv1alpha1.RequirementStatus
		message string
	}{
		"an owned definition": {
			func(c *operatorsv1alpha1.ClusterServiceVersion, group string) {
				c.Spec.CustomResourceDefinitions.Owned = []operatorsv1alpha1.CRDDescription{{Name: "ponds." + group, Version: "v1", Kind: "Pond"}}
			},
			func(e *env, group string) { define(e, group, "v1") },
			missingPonds, "CRD is not present",
		},
		"a required definition": {
			func(c *operatorsv1alpha1.ClusterServiceVersion, group string) {
				c.Spec.CustomResourceDefinitions.Required = []operatorsv1alpha1.CRDDescription{{Name: "ponds." + group, Version: "v1", Kind: "Pond"}}
			},
			func(e *env, group string) { define(e, group, "v1") },
			missingPonds, "CRD is not present",
		},
		"a native API": {
			func(c *operatorsv1alpha1.ClusterServiceVersion, group string) {
				c.Spec.NativeAPIs = []metav1.GroupVersionKind{{Group: group, Version: "v1", Kind: "Pond"}}
			},
			func(e *env, group string) { define(e, group, "v1") },
			func(group string) operatorsv1alpha1.RequirementStatus {
				return operatorsv1alpha1.RequirementStatus{Group: group, Version: "v1", Kind: "Pond", Name: "Pond.v1." + group, Status: operatorsv1alpha1.RequirementStatusReasonNotPresent}
			}, "Native API does not exist",
		},
		"an APIService": {
			func(c *operatorsv1alpha1.ClusterServiceVersion, group string) {
				c.Spec.APIServiceDefinitions.Required = []operatorsv1alpha1.APIServiceDescription{{Group: group, Version: "v1", Kind: "Pond"}}
			},
			func(e *env, group string) { define(e, group, "v1") },
			func(group string) operatorsv1alpha1.RequirementStatus {
				return operatorsv1alpha1.RequirementStatus{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService", Name: "v1." + group, Status: operatorsv1alpha1.RequirementStatusReasonNotPresent}
			}, "APIService is not present",
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newOperatorEnv(t)
			group := e.namespace + ".example.com"
			e.manage()
			c := csv("operator.v1", "server")
			test.require(c, group)
			e.create(c)
			e.isUnmet(test.message)
			requires(e, test.want(group))
			test.provide(e, group)
			e.succeeds("operator.v1")
		})
	}
}

func TestRequiredVersionOfADefinition(t *testing.T) {
	e := newOperatorEnv(t)
	group := e.namespace + ".example.com"
	define(e, group, "v1")
	e.manage()
	c := csv("operator.v1", "server")
	c.Spec.CustomResourceDefinitions.Owned = []operatorsv1alpha1.CRDDescription{{Name: "ponds." + group, Version: "v2", Kind: "Pond"}}
	e.create(c)
	e.reachesSaying("operator.v1", operatorsv1alpha1.CSVPhasePending, operatorsv1alpha1.CSVReasonRequirementsNotMet, "CRD version not served: the ClusterServiceVersion names v2, served are v1")
	e.edit("operator.v1", func(c *operatorsv1alpha1.ClusterServiceVersion) {
		c.Spec.CustomResourceDefinitions.Owned[0].Version = "v1"
	})
	e.succeeds("operator.v1")
}

func TestMinKubeVersion(t *testing.T) {
	e := newOperatorEnv(t)
	e.manage()
	c := csv("operator.v1", "server")
	c.Spec.MinKubeVersion = "99.0.0"
	e.create(c)
	e.reachesSaying("operator.v1", operatorsv1alpha1.CSVPhasePending, operatorsv1alpha1.CSVReasonRequirementsNotMet, "CSV version requirement not met: minKubeVersion (99.0.0) > server version (")
	requires(e, operatorsv1alpha1.RequirementStatus{
		Group: "operators.coreos.com", Version: "v1alpha1", Kind: "ClusterServiceVersion", Name: "operator.v1", Status: operatorsv1alpha1.RequirementStatusReasonPresentNotSatisfied,
	})
	e.edit("operator.v1", func(c *operatorsv1alpha1.ClusterServiceVersion) { c.Spec.MinKubeVersion = "1.20.0" })
	e.succeeds("operator.v1")
}

func missingPonds(group string) operatorsv1alpha1.RequirementStatus {
	return operatorsv1alpha1.RequirementStatus{
		Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition", Name: "ponds." + group, Status: operatorsv1alpha1.RequirementStatusReasonNotPresent,
	}
}

func definitions(e *env) dynamic.ResourceInterface {
	return e.any.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
}

func define(e *env, group, version string) {
	e.Helper()
	defineKind(e, "Pond", group, version)
}

func defineKind(e *env, kind, group, version string) {
	e.Helper()
	plural := strings.ToLower(kind) + "s"
	_, err := definitions(e).Create(e.ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": plural + "." + group},
		"spec": map[string]any{
			"group": group, "scope": "Namespaced", "names": map[string]any{"plural": plural, "kind": kind},
			"versions": []any{map[string]any{
				"name": version, "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}},
			}},
		},
	}}, metav1.CreateOptions{})
	e.must(err)
	e.Cleanup(func() { undefine(e, plural, group) })
}

// undefine removes what define created, unless that is done.
func undefine(e *env, plural, group string) {
	e.Helper()
	if err := definitions(e).Delete(context.Background(), plural+"."+group, metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
		e.must(err)
	}
}

func serves(e *env, groupVersion, kind string) {
	e.Helper()
	e.eventually(kind+" of "+groupVersion+" is served", func() (bool, any) {
		list, err := e.kube.Discovery().ServerResourcesForGroupVersion(groupVersion)
		return err == nil && slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Kind == kind }), err
	})
}
