package takeover

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
)

// Change is a change of one object, and when it is made.
type Change struct {
	Object Object `json:"object"`
	What   string `json:"what"`
	// When is DuringRun, or AtNextRollout: the next change of the pod template by the operator itself, or converge.
	When string `json:"when"`
	// RestartsPods is set if pods are replaced because of the change.
	RestartsPods bool `json:"restartsPods"`
}

// The values of Change.When.
const (
	DuringRun     = "DuringRun"
	AtNextRollout = "AtNextRollout"
)

// Live are objects of one ClusterServiceVersion as the API server has them: those with which the manager does more during
// run than to adopt them.
type Live struct {
	CSV *operatorsv1alpha1.ClusterServiceVersion
	// Objects are the metadata of the objects that the ClusterServiceVersion owns, by their kind.
	Objects map[string][]metav1.Object
	// Owners are the definitions that have to own what converts them.
	Owners   owners.DefinitionOwners
	Bindings []*rbacv1.RoleBinding
	// Readers are the bindings for servers of APIServices in the namespace kube-system.
	Readers []metav1.Object
	// OwnForm are the objects next to Deployments in another form: the manager brings them into its own form, too.
	OwnForm []Object
	// Unread are the kinds that the user may not list.
	Unread []string
}

// The changes of run.
const (
	whatCSV         = "the label " + wellknown.LabelTakeover + ", and the status"
	whatRollout     = "the manager creates it, and reports in its status"
	whatCertificate = "the key ca.crt, labels of the owner, and annotations of the rotation are added; certificate and private key stay"
	whatCondition   = "labels of the owner; the ClusterServiceVersion is its owner"
	whatAccess      = whatCondition + "; the operator may write the status of its OperatorCondition"
	whatReader      = "labels of the owner are added"
	whatOwner       = "the CustomResourceDefinition that it converts becomes an owner"
	whatOtherForm   = "the manager brings it into its own form"
	whatReverted    = "the manager writes again "
	whatTemplate    = "the pod template gets the manager's label, mounts and the item ca.crt"
)

// ChangesOf returns what run changes, except Deployments in another form.
func ChangesOf(l Live) []Change {
	all := []Change{
		{Object{KindCSV, l.CSV.Namespace, l.CSV.Name}, whatCSV, DuringRun, false},
		{Object{KindRollout, l.CSV.Namespace, l.CSV.Name}, whatRollout, DuringRun, false},
	}
	for _, kind := range owners.Kinds {
		for _, o := range l.Objects[kind.Name] {
			if what := l.changeOf(kind.Name, o); what != "" {
				all = append(all, Change{Object{kind.Name, o.GetNamespace(), o.GetName()}, what, DuringRun, false})
			}
		}
	}
	for _, o := range l.missing() {
		all = append(all, Change{o, "the manager creates it", DuringRun, false})
	}
	for _, o := range l.OwnForm {
		all = append(all, Change{o, whatOtherForm, DuringRun, false})
	}
	for _, o := range l.Readers {
		if !csvspec.HasOwnerLabels(o, l.CSV) {
			all = append(all, Change{Object{owners.RoleBindings.Name, o.GetNamespace(), o.GetName()}, whatReader, DuringRun, false})
		}
	}
	return all
}

// ofCondition are the objects that let an operator write its OperatorCondition. All have the name of the version.
var ofCondition = map[string]string{owners.OperatorConditions.Name: whatCondition, owners.Roles.Name: whatAccess, owners.RoleBindings.Name: whatCondition}

// changeOf returns what run changes in an object; empty if nothing.
func (l Live) changeOf(kind string, o metav1.Object) string {
	what := ""
	switch {
	case kind == owners.Secrets.Name && l.serves(o.GetName()):
		if o.GetAnnotations()[wellknown.AnnotationFingerprint] == "" {
			what = whatCertificate
		}
	case o.GetName() == l.CSV.Name && ofCondition[kind] != "":
		if !csvspec.HasOwnerLabels(o, l.CSV) {
			what = ofCondition[kind]
		}
	}
	if _, differ := l.Owners.Owners(kind, l.labelled(o, what != ""), l.Bindings); differ {
		if what != "" {
			what += "; "
		}
		what += whatOwner
	}
	return what
}

// labelled returns the metadata as the manager reads it when it writes the owners.
func (l Live) labelled(o metav1.Object, written bool) metav1.Object {
	if !written {
		return o
	}
	return &metav1.ObjectMeta{
		Namespace: o.GetNamespace(), Name: o.GetName(), OwnerReferences: o.GetOwnerReferences(), Labels: labels.Merge(o.GetLabels(), csvspec.OwnerLabels(l.CSV)),
	}
}

// serves reports whether a Secret has the certificate of a Deployment of the ClusterServiceVersion.
func (l Live) serves(secret string) bool {
	return slices.ContainsFunc(csvspec.DeploymentNames(l.CSV), func(deployment string) bool {
		return len(csvspec.Descriptions(l.CSV, deployment)) > 0 && secret == names.Secret(names.Service(deployment))
	})
}

// missing returns what olm-operator creates for each version, as far as it is known not to exist.
func (l Live) missing() (all []Object) {
	for _, kind := range []owners.Kind{owners.OperatorConditions, owners.Roles, owners.RoleBindings} {
		if !slices.Contains(l.Unread, kind.Name) && !slices.ContainsFunc(l.Objects[kind.Name], func(o metav1.Object) bool { return o.GetName() == l.CSV.Name }) {
			all = append(all, Object{kind.Name, l.CSV.Namespace, l.CSV.Name})
		}
	}
	return all
}
