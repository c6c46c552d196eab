// Package takeover decides how the manager takes the place of a running olm-operator, and how it gives the place back:
// what is written next, what the commands wait for, and what they print. It is pure.
package takeover

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
)

// Snapshot is what the commands read of a cluster. It is their only state.
type Snapshot struct {
	// OLM is the Deployment olm-operator; nil if the cluster has none.
	OLM *Program
	// OLMVersion is the version of OLM, such as "v0.46.0"; empty if it is not known.
	OLMVersion string
	// Manager is the Deployment of the manager; nil if it does not exist.
	Manager *Program
	// OtherManagers are the Deployments of other managers with replicas.
	OtherManagers []types.NamespacedName
	// NoRollouts is set if the cluster does not know the kind WebhookRollout.
	NoRollouts bool
	// CSVs are all ClusterServiceVersions except copies, by namespace and name.
	CSVs []CSV
	// HeldDefinitions are the CustomResourceDefinitions of which a version, a storage version or a conversion is held.
	HeldDefinitions []HeldDefinition
	// Policies are the objects that hold them: the MutatingAdmissionPolicy and its binding, as far as they exist.
	Policies []Object
	// Missing are the permissions that the user lacks.
	Missing []Permission
	// NotChecked is what the user may not read, and what is not known because of that.
	NotChecked []string
}

// HeldDefinition is a CustomResourceDefinition of which something is held.
type HeldDefinition struct {
	Name string
	// CSVs have a conversion webhook for it.
	CSVs []types.NamespacedName
}

// onlyFor reports whether all CSVs that convert a definition are among some.
func (d HeldDefinition) onlyFor(some []types.NamespacedName) bool {
	others := slices.ContainsFunc(d.CSVs, func(name types.NamespacedName) bool { return !slices.Contains(some, name) })
	return len(d.CSVs) > 0 && !others
}

// Object identifies an object.
type Object struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// String returns the kind and the name, as messages show them.
func (o Object) String() string {
	if o.Namespace == "" {
		return o.Kind + " " + o.Name
	}
	return o.Kind + " " + o.Namespace + "/" + o.Name
}

// Program is a Deployment that runs olm-operator or the manager.
type Program struct {
	types.NamespacedName
	Replicas  int32
	Available int32
	// Pods are the names of the pods whose containers may run.
	Pods []string
	// AvailableSince is the last change of the condition Available to True; zero if it is not True.
	AvailableSince time.Time
	// ScaledBy is the client that would revert a change of the replicas; empty if there is none.
	ScaledBy string
	// Args are the arguments of its containers.
	Args []string
}

// Runs reports whether the program may write: it has replicas, or a pod that has not ended.
func (p *Program) Runs() bool { return p != nil && (p.Replicas > 0 || len(p.Pods) > 0) }

// IsAvailable reports whether all replicas are available.
func (p *Program) IsAvailable() bool {
	return p != nil && p.Replicas > 0 && p.Available >= p.Replicas
}

// CSV is one ClusterServiceVersion with what belongs to it.
type CSV struct {
	types.NamespacedName
	// Annotations are those of the CSV.
	Annotations map[string]string
	Phase       string
	// Cause is the reason and the message of the phase.
	Cause string
	Order Order
	// UnknownLabel is set if the label has a value that is no order.
	UnknownLabel bool
	// InManagersForm is set if a Deployment is in the manager's own form, and is not given back.
	InManagersForm bool
	// HasRollout is set if a WebhookRollout exists, Report is its status.takeover.
	HasRollout bool
	Report     Report
	// HasDeployments is set if the CSV declares one. Workloads adds the existing ones.
	HasDeployments bool
	Deployments    []Deployment
	// BudgetsUnread is set if the user may not list the PodDisruptionBudgets of the namespace.
	BudgetsUnread bool
	// Objects are what the manager adopts: Deployments, Services, Secrets, registrations, definitions with a conversion.
	Objects []Object
	// Changes are what run changes in them, in the ClusterServiceVersion and in its WebhookRollout.
	Changes []Change
	// EditedRegistrations are registrations that other clients than olm-operator and the manager changed.
	EditedRegistrations []Edit
	// Reverted are Services, Roles and RoleBindings that differ from what olm-operator wrote: the manager writes them again.
	Reverted []Reverted
	// Problems are what keeps a webhook from serving now.
	Problems []Problem
}

// Edit is an object with the clients that changed it.
type Edit struct {
	Object Object
	By     []string
}

// Reverted is an object with the fields that the manager writes again.
type Reverted struct {
	Object Object
	Fields []string
}

// Deployment is one of a CSV.
type Deployment struct {
	Name      string
	Replicas  int32
	Available int32
	// Recreate is set if the old pods end before the new ones start.
	Recreate bool
	// OtherForm is set if it is not what olm-operator makes of the CSV now: the manager brings it into its own form at once.
	OtherForm bool
	// Reverted are the fields of spec that differ from what olm-operator writes, and that the manager writes again at once.
	Reverted []string
	// Lacked are the annotations of the CSV that the pod template lacks. olm-operator requires them.
	Lacked []string
	// EditedBy are the clients other than olm-operator and the manager that own fields of spec.
	EditedBy []string
	// Budgets are the PodDisruptionBudgets of its pods that allow no disruption now.
	Budgets []string
}

// Problem is why a webhook does not serve.
type Problem struct {
	// Object is the registration.
	Object string
	// Code is a reason of package probe or of a WebhookRollout.
	Code    string
	Message string
}

// Permission is a verb on a resource that a command needs.
type Permission struct {
	Verb      string `json:"verb"`
	Resource  string `json:"resource"`
	Namespace string `json:"namespace,omitempty"`
}

// find returns the CSV with a name; nil if there is none.
func (s *Snapshot) find(name types.NamespacedName) *CSV {
	i := slices.IndexFunc(s.CSVs, func(c CSV) bool { return c.NamespacedName == name })
	if i < 0 {
		return nil
	}
	return &s.CSVs[i]
}

// isOrdered reports whether a CSV has an order.
func isOrdered(c CSV) bool { return c.Order != "" }

// isLabelled reports whether a CSV has the label, with any value.
func isLabelled(c CSV) bool { return isOrdered(c) || c.UnknownLabel }

// ordered returns the number of CSVs with an order.
func (s *Snapshot) ordered() int { return len(lists.Filter(s.CSVs, isOrdered)) }
