package takeover

import (
	"cmp"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/permissions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/conversion"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// Difference is a live object with the fields that the manager writes again.
type Difference struct {
	Object drift.Object
	Fields []string
}

// RevertedBeside returns the live Services, Roles, RoleBindings, ClusterRoleBindings and conversions that differ from what
// olm-operator wrote next to the Deployments, except in metadata and in the trust. While they are held, the manager writes
// the fields again.
func (in Input) RevertedBeside() (all []Difference) {
	desired := in.managersObjects()
	for _, d := range desired.Deployments {
		if d.Service == nil {
			continue
		}
		all = append(all, revertedIn(d.Service, in.Services[d.Service.Name])...)
		all = append(all, in.revertedGrant(d.Role, d.RoleBinding)...)
		if d.AuthDelegator != nil {
			all = append(all, revertedIn(d.AuthDelegator, in.ClusterRoleBindings[d.AuthDelegator.Name])...)
			all = append(all, revertedIn(d.AuthReader, in.AuthReaders[d.AuthReader.Name])...)
		}
		for _, w := range d.Webhooks {
			all = append(all, in.revertedConversions(w.Conversions)...)
		}
	}
	return append(all, in.revertedAccess(desired.Condition)...)
}

// ManagersBeside returns the live Service, Role and RoleBinding of a Deployment that differ from the manager's form, also in
// metadata. The manager brings them into its own form together with the Deployment.
func (in Input) ManagersBeside(deployment string) (all []Difference) {
	for _, d := range in.managersObjects().Deployments {
		if d.Object.Name == deployment && d.Service != nil {
			all = append(all, differing(d.Service, in.Services[d.Service.Name])...)
			all = append(all, differing(d.Role, in.Roles[d.Role.Name])...)
			all = append(all, differing(d.RoleBinding, in.RoleBindings[d.RoleBinding.Name])...)
		}
	}
	return all
}

// managersObjects returns the objects in the manager's form, with the names that olm-operator uses.
func (in Input) managersObjects() render.Desired {
	in.Input.Services = in.serviceNames()
	in.Delegations = in.usualDelegations()
	in.OperatorConditions = true                  // The access to a missing one does not exist.
	in.Scope.Group = &operatorsv1.OperatorGroup{} // It changes only registrations.
	return render.Objects(in.Input)
}

// revertedAccess compares the access to the OperatorCondition. olm-operator does not grant that to the status.
func (in Input) revertedAccess(c *render.Condition) []Difference {
	role := c.Role.DeepCopy()
	if live := in.Roles[role.Name]; len(revertedIn(role, live)) > 0 {
		role.Rules[0].Resources = slices.DeleteFunc(role.Rules[0].Resources, func(resource string) bool { return strings.HasSuffix(resource, "/status") })
	}
	all := revertedIn(role, in.Roles[role.Name])
	if live := in.RoleBindings[c.RoleBinding.Name]; live != nil {
		all = append(all, revertedIn(c.RoleBinding, asManagersWrite(live))...)
	}
	return all
}

// asManagersWrite returns a binding with each subject once, and with its namespace. olm-operator lists an account once for
// each of its permissions, without the namespace, which is then that of the binding.
func asManagersWrite(live *rbacv1.RoleBinding) *rbacv1.RoleBinding {
	binding := live.DeepCopy()
	for i := range binding.Subjects {
		binding.Subjects[i].Namespace = cmp.Or(binding.Subjects[i].Namespace, live.Namespace)
	}
	binding.Subjects = lists.Distinct(binding.Subjects)
	return binding
}

func (in Input) revertedConversions(desired []render.Conversion) (all []Difference) {
	for _, c := range desired {
		live := in.Definitions[c.CRD]
		if live == nil {
			continue
		}
		if _, service := owners.ConvertedBy(live); service == "" || !conversion.CallsAlike(live, c) {
			all = append(all, Difference{live, []string{"spec.conversion"}})
		}
	}
	return all
}

func (in Input) revertedGrant(role *rbacv1.Role, binding *rbacv1.RoleBinding) []Difference {
	return append(revertedIn(role, in.Roles[role.Name]), revertedIn(binding, in.RoleBindings[binding.Name])...)
}

// serviceNames returns the usual names, except for Services that do not belong to the ClusterServiceVersion.
func (in Input) serviceNames() map[string]string {
	all := map[string]string{}
	for _, deployment := range csvspec.DeploymentNames(in.CSV) {
		usual := in.Services[names.Service(deployment)]
		_, alternateExists := in.Services[csvspec.AlternateServiceName(in.CSV, deployment)]
		all[deployment] = csvspec.ServiceName(in.CSV, deployment, usual != nil && !csvspec.Owns(in.CSV, usual), alternateExists)
	}
	return all
}

// usualDelegations returns the names that olm-operator uses.
func (in Input) usualDelegations() map[string]permissions.Delegation {
	all := map[string]permissions.Delegation{}
	for _, deployment := range csvspec.DeploymentNames(in.CSV) {
		all[deployment] = permissions.UsualDelegation(in.Input.Services[deployment])
	}
	return all
}

// revertedIn returns the difference without that in metadata.
func revertedIn[T liveObject](desired, live T) []Difference {
	all := differing(desired, live)
	for i := range all {
		all[i].Fields = slices.DeleteFunc(all[i].Fields, func(field string) bool { return strings.HasPrefix(field, "metadata") })
	}
	return slices.DeleteFunc(all, func(d Difference) bool { return len(d.Fields) == 0 })
}

type liveObject interface {
	drift.Object
	comparable
}

func differing[T liveObject](desired, live T) []Difference {
	var none T
	if live == none {
		return nil
	}
	fields := drift.Of(desired, live).Fields
	if len(fields) == 0 {
		return nil
	}
	return []Difference{{live, fields}}
}
