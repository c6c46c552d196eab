package deploy

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/groupkind"
)

// Removal is the plan of an uninstallation, with messages about what it keeps.
type Removal struct {
	// Delete are the objects to delete, in this order. Definitions come first, while the operator can still convert
	// and finalize their objects. Last are the OperatorGroup and the Subscription: an interrupted removal finds its
	// namespaces in them.
	Delete []*unstructured.Unstructured
	// Definitions is how many of them are CustomResourceDefinitions, which are deleted with all their objects.
	Definitions int
	Messages    []string
	// KeptDefinitions are messages about existing CustomResourceDefinitions that are not deleted, although the user asked.
	KeptDefinitions []string
	// StaleRecord reports that no object is left to delete, but that the record has objects or a version that are removed.
	StaleRecord bool
	kept        []*unstructured.Unstructured
	absent      []*unstructured.Unstructured // recorded definitions that do not exist
	takenBy     map[types.UID][]string
}

// Line returns the name of an object to delete, and the other clients that own fields of it.
func (r Removal) Line(o *unstructured.Unstructured) string {
	return Title(o) + writers(r.takenBy[o.GetUID()])
}

// NewRemoval decides which manifests of an installation are deleted. objects counts the objects of each
// existing definition, stored is in which versions they are stored, and others are the ClusterServiceVersions that stay in the namespace.
func NewRemoval(manifests []*unstructured.Unstructured, objects map[string]ObjectCounts, stored map[string]string, others []string, definitions bool) Removal {
	var r Removal
	var definitionsGo, groups, subscriptions []*unstructured.Unstructured
	for _, o := range slices.Backward(manifests) {
		switch groupkind.Of(o) {
		case groupkind.Namespace:
			r.Messages = append(r.Messages, fmt.Sprintf("Namespace %s stays", o.GetName()))
		case groupkind.OperatorGroup:
			if len(others) == 0 {
				groups = append(groups, o)
			} else {
				r.kept = append(r.kept, o)
				r.Messages = append(r.Messages, fmt.Sprintf("OperatorGroup %s stays, for %s", o.GetName(), strings.Join(others, ", ")))
			}
		case groupkind.Subscription:
			subscriptions = append(subscriptions, o)
		case groupkind.CustomResourceDefinition:
			population, there := objects[o.GetName()]
			switch {
			case there && definitions:
				definitionsGo = append(definitionsGo, o)
				r.Messages = append(r.Messages, fmt.Sprintf("CustomResourceDefinition %s is deleted, with %s", o.GetName(), population.byNamespace()))
			case there:
				r.Messages = append(r.Messages, fmt.Sprintf("CustomResourceDefinition %s stays, with %s%s", o.GetName(), population, population.versions(stored[o.GetName()])))
			}
		default:
			r.Delete = append(r.Delete, o)
		}
	}
	r.Delete, r.Definitions = slices.Concat(definitionsGo, r.Delete, groups, subscriptions), len(definitionsGo)
	return r
}

// deletedByHand are the kinds for which KeptMessage has a kubectl command, as kubectl names them.
var deletedByHand = map[schema.GroupKind]string{groupkind.OperatorGroup: "operatorgroup", groupkind.Subscription: "subscription.operators.coreos.com"}

// UnknownCount is the number of a definition's objects that cannot be read.
const UnknownCount = -1

func countText(n int) string {
	switch n {
	case UnknownCount:
		return "an unknown number of objects, which cannot be read now"
	case 0:
		return "no objects"
	case 1:
		return "1 object"
	default:
		return fmt.Sprintf("%d objects", n)
	}
}

// Restrict keeps the recorded and the adopted objects, and adds what a previous version has left. earlier are the other
// records in the namespace: an OperatorGroup may exist longer than the installation that created it. live returns the
// existing object or nil. Each object to delete has the uid of the live object.
func (r *Removal) Restrict(record Record, earlier []Record, adopted []string, live func(*unstructured.Unstructured) (*unstructured.Unstructured, error)) error {
	if message := record.remainder(); message != "" {
		r.Messages = append([]string{message}, r.Messages...)
	}
	going, last := r.Delete, []*unstructured.Unstructured(nil)
	if n := slices.IndexFunc(going, isDeletedLast); n >= 0 {
		going, last = going[:n:n], going[n:]
	}
	left := r.leftovers(record)
	going = slices.Concat(going, left, last)
	r.Delete, r.Definitions, r.takenBy = nil, 0, map[types.UID][]string{}
	exists := false
	for _, o := range going {
		there, err := live(o)
		exists = exists || there != nil
		manifest := o
		if slices.Contains(left, o) && there != nil {
			manifest = there // That of the previous version is not known.
		}
		switch {
		case err != nil:
			return err
		case there == nil:
			continue
		case !record.Removes(manifest, there, adopted) && !isGroupOf(there, earlier):
			r.Messages = append(r.Messages, record.KeptMessage(manifest, there))
			if slices.Contains(left, o) {
				r.kept = append(r.kept, o) // A later removal may adopt it.
			}
			continue
		}
		r.takenBy[there.GetUID()] = TakenBy(manifest, there)
		o = o.DeepCopy()
		o.SetUID(there.GetUID())
		r.Delete = append(r.Delete, o)
		if groupkind.Is(o, groupkind.CustomResourceDefinition) {
			r.Definitions++
		}
	}
	if exists {
		return nil
	}
	return r.cleanUp(record, live)
}

// cleanUp finds out what a record still has that a removal has deleted: the update of the record may have failed.
func (r *Removal) cleanUp(record Record, live func(*unstructured.Unstructured) (*unstructured.Unstructured, error)) error {
	for _, e := range record.Objects {
		if !groupkind.Is(&e, groupkind.CustomResourceDefinition) {
			continue
		}
		there, err := live(e.object())
		if err != nil {
			return err
		}
		if there == nil {
			r.absent = append(r.absent, e.object())
		}
	}
	r.StaleRecord = record.CSV != "" || record.Next != "" || len(r.RecordAfter(record, nil).Objects) < len(record.Objects)
	if r.StaleRecord {
		r.Messages = append(r.Messages, fmt.Sprintf("no object is left to remove; ConfigMap %s/%s, which records the installation, is brought up to date", record.Namespace, RecordName(record.Package)))
	}
	return nil
}

func (r *Removal) leftovers(record Record) (all []*unstructured.Unstructured) {
	planned := slices.Concat(r.Delete, r.kept)
	for _, e := range slices.Backward(record.Objects) {
		o := e.object()
		if stays := groupkind.Is(o, groupkind.Namespace) || groupkind.Is(o, groupkind.CustomResourceDefinition); !stays && e.Created && !contains(planned, o) {
			all = append(all, o)
		}
	}
	return all
}

// isDeletedLast reports whether an interrupted removal needs the object to find the rest.
func isDeletedLast(o *unstructured.Unstructured) bool {
	return groupkind.Is(o, groupkind.OperatorGroup) || groupkind.Is(o, groupkind.Subscription)
}

// Removes reports whether --adopt names a live object, or the installation created it and no other client owns fields of it.
func (r Record) Removes(manifest, live *unstructured.Unstructured, adopted []string) bool {
	return slices.Contains(adopted, Reference(live)) || r.Created(live) && len(TakenBy(manifest, live)) == 0
}

// isGroupOf needs the name of the installation, too: these are not the records of the removed bundle.
func isGroupOf(live *unstructured.Unstructured, records []Record) bool {
	return groupkind.Is(live, groupkind.OperatorGroup) && slices.ContainsFunc(records, func(r Record) bool { return r.Created(live) && r.IsNamedBy(live) })
}

// RecordAfter returns the record of the objects that stay: the definitions, which a later installation may change again,
// and an OperatorGroup that other operators need, which is removed with the last of them.
func (r Removal) RecordAfter(record Record, removed []*unstructured.Unstructured) Record {
	rest, _ := record.Without(slices.Concat(removed, r.absent))
	rest.CSV, rest.Next = "", ""
	rest.Objects = slices.DeleteFunc(rest.Objects, func(e Recorded) bool {
		return !e.Created || !groupkind.Is(&e, groupkind.CustomResourceDefinition)
	})
	for _, o := range r.kept {
		if e := record.find(o); e != nil && e.Created {
			rest.Objects = append(rest.Objects, *e)
		}
	}
	return rest
}

// KeptMessage returns why the live object of a manifest stays.
func (r Record) KeptMessage(manifest, live *unstructured.Unstructured) string {
	if kind, is := deletedByHand[groupkind.Of(live)]; is {
		return fmt.Sprintf("%s %s stays: no installation by these commands created it; once nothing needs it: kubectl -n %s delete %s %s",
			live.GetKind(), live.GetName(), live.GetNamespace(), kind, live.GetName())
	}
	if r.Created(live) {
		return fmt.Sprintf("%s stays: another client owns fields of it%s; --adopt %s removes it", Title(live), writers(TakenBy(manifest, live)), Reference(live))
	}
	return fmt.Sprintf("%s stays: this installation did not create it%s; --adopt %s removes it", Title(live), writtenBy(live), Reference(live))
}

func writtenBy(live *unstructured.Unstructured) string { return writers(OtherManagers(live)) }

func writers(managers []string) string {
	if len(managers) == 0 {
		return ""
	}
	return " (written by " + strings.Join(managers, ", ") + ")"
}

// CheckRemoval returns an error if another version than the bundle's is installed, or was being installed.
func CheckRemoval(record Record, csv, namespace string) error {
	switch {
	case record.Has(csv), record.CSV == "" && record.Next == "":
		return nil
	case record.CSV == "":
		return fmt.Errorf("the installation of %s in namespace %s was interrupted, and the bundle has %s: remove %s with its own bundle", record.Next, namespace, csv, record.Next)
	default:
		return fmt.Errorf("%s is installed in namespace %s, and not %s: remove it with its own bundle", record.CSV, namespace, csv)
	}
}

// remainder returns a message if objects are recorded, and no version is installed.
func (r Record) remainder() string {
	if r.CSV != "" || r.Next != "" || len(r.Objects) == 0 {
		return ""
	}
	return fmt.Sprintf("no version of package %s is installed in namespace %s: only objects that an earlier removal kept can be removed", r.Package, r.Namespace)
}
