package plan

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
)

// Switch is what OLMConfig requests for the operators of all namespaces.
type Switch int

// The settings of a Switch.
const (
	Enabled Switch = iota
	Disabled
	// Unknown is while the cache of OLMConfig is being filled. Copies stay as they are.
	Unknown
)

// Facts are about the copy of one name in one namespace.
type Facts struct {
	// Namespace is nil if it does not exist.
	Namespace *corev1.Namespace
	// Copy is a CSV with the label of copies, or one that proves to be a copy without it; else nil.
	Copy *Copy
	// Original is set if another CSV has the name.
	Original bool
	// Candidates are the CSVs with the name in other namespaces, except copies.
	Candidates []Candidate
	// Managed reports whether the manager is responsible for a namespace.
	Managed func(namespace string) bool
	// Everywhere is about copies of operators of all namespaces, except in protected namespaces.
	Everywhere Switch
	// Protected is set if the namespace keeps these copies.
	Protected bool
	// Hidden is set if the original of the copy exists, but another client gave it the marks of a copy.
	Hidden bool
	// Written is the latest write of this process, unless it deleted the copy.
	Written Written
	// Deleted is set if this process deleted the copy lately.
	Deleted bool
}

// Candidate is a CSV that may have a copy in the namespace.
type Candidate struct {
	CSV *operatorsv1alpha1.ClusterServiceVersion
	// State is that of its copies (StateOf).
	State State
	// Covers is set if its OperatorGroup targets the namespace.
	Covers bool
	// Everywhere is set if its OperatorGroup targets all namespaces.
	Everywhere bool
}

// Copy is an existing copy, or what looks like one.
type Copy struct {
	UID             types.UID
	ResourceVersion string
	Deleting        bool
	// Marks has OperatorNamespace as CopiedFrom if another client removed the label.
	csvspec.Marks
	// Proven is set if the status shows that it is a copy.
	Proven bool
}

// Written is a write to a copy. The zero value is for none.
type Written struct {
	ResourceVersion string
	State           string
	// Unseen is set until the caches show the write.
	Unseen bool
}

// Verb is what to do with a copy.
type Verb int

// The verbs.
const (
	Keep Verb = iota
	Create
	Update
	Delete
)

// Decision is what to do with a copy.
type Decision struct {
	Verb Verb
	// Original is what Create and Update copy.
	Original *operatorsv1alpha1.ClusterServiceVersion
	// Changed is set if another client wrote the copy after the manager.
	Changed bool
	// Verify is set if the live status must show a copy before the write: its metadata do not prove it.
	Verify bool
	// Repair is set if another client changed or deleted the copy.
	Repair bool
	// Counts is set for copies of operators of all namespaces whose existence is not as OLMConfig requests.
	Counts bool
}

// Decide returns what to do with a copy.
func Decide(f Facts) Decision {
	switch {
	case f.Namespace == nil || f.Namespace.DeletionTimestamp != nil || f.Namespace.Status.Phase == corev1.NamespaceTerminating:
		return Decision{}
	case f.Copy == nil && f.Original, slices.ContainsFunc(f.Candidates, Candidate.isGivenBack):
		return Decision{}
	case f.Copy == nil:
		return f.create()
	case !f.isManagedCopy() || f.Copy.Deleting:
		return Decision{}
	}
	if source := f.source(); source != nil {
		return f.update(*source)
	}
	return f.delete()
}

// isGivenBack reports whether olm-operator writes the copies again.
func (c Candidate) isGivenBack() bool { return csvspec.IsGivenBack(c.CSV) }

// isManagedCopy reports whether the manager may write to the copy. A CSV with the finalizer is an original that another
// client labelled, and the manager removes the label. The annotation counts where another client changed the label.
func (f Facts) isManagedCopy() bool {
	c := f.Copy
	if c.Copied != "" {
		return f.Managed(c.CopiedFrom) || f.Managed(c.OperatorNamespace)
	}
	return !c.Finalized && f.Managed(c.CopiedFrom)
}

// source returns the candidate to copy: the oldest one, if several have the name.
func (f Facts) source() *Candidate {
	wanted := slices.DeleteFunc(slices.Clone(f.Candidates), func(c Candidate) bool { return !c.hasState() || !f.wants(c) })
	if len(wanted) == 0 {
		return nil
	}
	oldest := slices.MinFunc(wanted, func(a, b Candidate) int {
		return cmp.Or(a.CSV.CreationTimestamp.Compare(b.CSV.CreationTimestamp.Time), cmp.Compare(a.CSV.Namespace, b.CSV.Namespace))
	})
	return &oldest
}

func (f Facts) wants(c Candidate) bool {
	switch {
	case !c.Covers || !f.Managed(c.CSV.Namespace):
		return false
	case c.Everywhere && !f.Protected:
		return f.Everywhere == Enabled
	default:
		return true
	}
}

// hasState reports whether OLM v0 copies a CSV in this phase. Before that its state is not known, and while it is being
// deleted the state does not change.
func (c Candidate) hasState() bool { return c.CSV.DeletionTimestamp == nil && !c.CSV.IsUncopiable() }

// isUndecided reports whether a copy stays until more is known about its original.
func (f Facts) isUndecided(c Candidate) bool {
	unknown := c.Everywhere && !f.Protected && f.Everywhere == Unknown
	return c.Covers && (unknown || f.wants(c) && (c.CSV.DeletionTimestamp != nil || c.CSV.Status.Phase == operatorsv1alpha1.CSVPhaseNone))
}

func (f Facts) create() Decision {
	source := f.source()
	if source == nil || f.Written.Unseen {
		return Decision{}
	}
	return Decision{Verb: Create, Original: source.CSV, Counts: source.Everywhere, Repair: f.Written.State == source.State.String()}
}

func (f Facts) update(source Candidate) Decision {
	changed, stale := f.changedByOthers(source.CSV.Namespace)
	content, status := f.Copy.Outdated(changed, source.State)
	if stale || !content && !status {
		return Decision{}
	}
	written := source.State.String()
	return Decision{
		Verb: Update, Original: source.CSV, Changed: changed, Verify: f.isUnproven(),
		Repair: changed && (f.Copy.Copied == written || f.Written.State == written),
	}
}

// Outdated returns which parts of a copy to write, so that it has a state.
func (c Copy) Outdated(changed bool, desired State) (content, status bool) {
	is := ParseState(c.Copied)
	return changed || is.Content != desired.Content, changed || is.Status != desired.Status || !c.HasStatus
}

// isUnproven reports whether only the label makes the CSV look like a copy. Every client that creates CSVs can set it.
func (f Facts) isUnproven() bool { return f.Copy.Copied == "" && !f.Copy.Proven }

// changedByOthers reports whether another client wrote the copy after the manager, and whether the caches do not show the
// manager's latest write yet.
func (f Facts) changedByOthers(original string) (changed, stale bool) {
	changed = !f.Copy.Labelled || f.Copy.CopiedFrom != original
	if f.Written.ResourceVersion == "" {
		return changed || !f.Copy.ByManager, false
	}
	order, err := resourceversion.CompareResourceVersion(f.Copy.ResourceVersion, f.Written.ResourceVersion)
	if err != nil {
		return true, false
	}
	return changed || order > 0, order < 0
}

func (f Facts) delete() Decision {
	of := func(c Candidate) bool { return c.CSV.Namespace == f.Copy.CopiedFrom }
	if f.Hidden || slices.ContainsFunc(f.Candidates, func(c Candidate) bool { return of(c) && f.isUndecided(c) }) {
		return Decision{}
	}
	return Decision{
		Verb: Delete, Verify: f.isUnproven(), Repair: f.Deleted,
		Counts: slices.ContainsFunc(f.Candidates, func(c Candidate) bool { return of(c) && c.Everywhere }),
	}
}

// ProvesCopy reports whether a CSV with a known status is a copy: only olm-operator and the manager write this reason.
func ProvesCopy(csv *operatorsv1alpha1.ClusterServiceVersion) bool {
	marks := csvspec.MarksOf(csv)
	return csv.Status.Reason == operatorsv1alpha1.CSVReasonCopied && !marks.Finalized &&
		marks.OperatorNamespace != "" && marks.OperatorNamespace != csv.Namespace
}
