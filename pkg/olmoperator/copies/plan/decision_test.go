package plan

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

var noon = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

func originalIn(namespace string) *operatorsv1alpha1.ClusterServiceVersion {
	csv := &operatorsv1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: "op.v1", UID: types.UID("original in " + namespace), Generation: 3, CreationTimestamp: metav1.NewTime(noon),
	}}
	csv.Status.Phase = operatorsv1alpha1.CSVPhaseSucceeded
	csv.Status.Reason = operatorsv1alpha1.CSVReasonInstallSuccessful
	return csv
}

// current is about namespace shop with the copy of an operator of all namespaces in namespace operators, as the manager
// wrote it.
func current() *Facts {
	original := originalIn("operators")
	state := StateOf(original).String()
	return &Facts{
		Namespace:  &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}},
		Candidates: []Candidate{{CSV: original, Covers: true, Everywhere: true}},
		Managed:    func(string) bool { return true },
		Copy: &Copy{UID: "copy", ResourceVersion: "10", Marks: csvspec.Marks{
			Labelled: true, CopiedFrom: "operators", OperatorNamespace: "operators", Copied: state, HasStatus: true, ByManager: true,
		}},
	}
}

func (f *Facts) original() *operatorsv1alpha1.ClusterServiceVersion { return f.Candidates[0].CSV }

// byOLM makes the copy one that OLM v0 wrote.
func (f *Facts) byOLM() { f.Copy.Copied, f.Copy.ByManager = "", false }

// absent deletes the copy.
func (f *Facts) absent() { f.Copy = nil }

// withoutOriginal deletes the original.
func (f *Facts) withoutOriginal() { f.Candidates = nil }

// orders gives the original an order about a takeover.
func (f *Facts) orders(order string) {
	f.original().Labels = map[string]string{wellknown.LabelTakeover: order}
}

func (f *Facts) writtenAt(version string) {
	f.Written = Written{ResourceVersion: version, State: StateOf(f.original()).String()}
}

type outcome struct {
	Verb                                    Verb
	Content, Status, Verify, Repair, Counts bool
}

func TestDecide(t *testing.T) {
	for name, test := range map[string]struct {
		change func(f *Facts)
		want   outcome
	}{
		"a current copy":                      {func(*Facts) {}, outcome{}},
		"a current copy that was written now": {func(f *Facts) { f.writtenAt("10") }, outcome{}},

		// Copies that are missing.
		"absent":                                    {func(f *Facts) { f.absent() }, outcome{Verb: Create, Counts: true}},
		"absent, for one of several namespaces":     {func(f *Facts) { f.absent(); f.Candidates[0].Everywhere = false }, outcome{Verb: Create}},
		"the namespace does not exist":              {func(f *Facts) { f.absent(); f.Namespace = nil }, outcome{}},
		"the namespace is being deleted":            {func(f *Facts) { f.absent(); f.Namespace.Status.Phase = corev1.NamespaceTerminating }, outcome{}},
		"the phase is not known":                    {func(f *Facts) { f.absent(); f.original().Status = operatorsv1alpha1.ClusterServiceVersionStatus{} }, outcome{}},
		"a phase that OLM v0 does not copy":         {func(f *Facts) { f.absent(); f.original().Status.Reason = operatorsv1alpha1.CSVReasonNoOperatorGroup }, outcome{}},
		"the requirements are not met":              {func(f *Facts) { f.absent(); f.original().Status.Reason = operatorsv1alpha1.CSVReasonRequirementsNotMet }, outcome{Verb: Create, Counts: true}},
		"the original is being deleted":             {func(f *Facts) { f.absent(); f.original().DeletionTimestamp = new(metav1.NewTime(noon)) }, outcome{}},
		"no target":                                 {func(f *Facts) { f.absent(); f.Candidates[0].Covers = false }, outcome{}},
		"the name belongs to another original":      {func(f *Facts) { f.absent(); f.Original = true }, outcome{}},
		"the caches do not show a created copy yet": {func(f *Facts) { f.absent(); f.writtenAt("10"); f.Written.Unseen = true }, outcome{}},
		"another client deleted the copy":           {func(f *Facts) { f.absent(); f.writtenAt("10") }, outcome{Verb: Create, Counts: true, Repair: true}},
		"deleted, and the original has changed":     {func(f *Facts) { f.absent(); f.writtenAt("10"); f.original().Generation++ }, outcome{Verb: Create, Counts: true}},
		"another manager is responsible for it":     {func(f *Facts) { f.absent(); f.Managed = func(string) bool { return false } }, outcome{}},
		"copies are disabled":                       {func(f *Facts) { f.absent(); f.Everywhere = Disabled }, outcome{}},
		"disabled, in a protected namespace":        {func(f *Facts) { f.absent(); f.Everywhere, f.Protected = Disabled, true }, outcome{Verb: Create, Counts: true}},
		"disabled, for one of several namespaces":   {func(f *Facts) { f.absent(); f.Everywhere, f.Candidates[0].Everywhere = Disabled, false }, outcome{Verb: Create}},
		"it is not known whether they are disabled": {func(f *Facts) { f.absent(); f.Everywhere = Unknown }, outcome{}},
		"not known, for one of several namespaces":  {func(f *Facts) { f.absent(); f.Everywhere, f.Candidates[0].Everywhere = Unknown, false }, outcome{Verb: Create}},
		"not known, in a protected namespace":       {func(f *Facts) { f.absent(); f.Everywhere, f.Protected = Unknown, true }, outcome{Verb: Create, Counts: true}},

		// Originals with an order about a takeover from olm-operator.
		"held":                         {func(f *Facts) { f.orders(wellknown.TakeoverHeld) }, outcome{}},
		"held, and absent":             {func(f *Facts) { f.absent(); f.orders(wellknown.TakeoverHeld) }, outcome{Verb: Create, Counts: true}},
		"given back, and absent":       {func(f *Facts) { f.absent(); f.orders(wellknown.TakeoverGivenBack) }, outcome{}},
		"given back, and changed":      {func(f *Facts) { f.orders(wellknown.TakeoverGivenBack); f.original().Generation++ }, outcome{}},
		"given back, without a target": {func(f *Facts) { f.orders(wellknown.TakeoverGivenBack); f.Candidates[0].Covers = false }, outcome{}},

		// Copies that are not current.
		"the spec has changed":                    {func(f *Facts) { f.original().Generation++ }, outcome{Verb: Update, Content: true}},
		"a label has changed":                     {func(f *Facts) { f.original().Labels = map[string]string{"a": "b"} }, outcome{Verb: Update, Content: true}},
		"the phase has changed":                   {func(f *Facts) { f.original().Status.Phase = operatorsv1alpha1.CSVPhaseReplacing }, outcome{Verb: Update, Status: true}},
		"the original was recreated":              {func(f *Facts) { f.original().UID = "new" }, outcome{Verb: Update, Content: true}},
		"the status was never written":            {func(f *Facts) { f.Copy.HasStatus = false }, outcome{Verb: Update, Status: true}},
		"another client has changed it":           {func(f *Facts) { f.Copy.ByManager = false }, outcome{Verb: Update, Content: true, Status: true, Repair: true}},
		"under the name of the manager":           {func(f *Facts) { f.writtenAt("9") }, outcome{Verb: Update, Content: true, Status: true, Repair: true}},
		"the label has another value":             {func(f *Facts) { f.Copy.CopiedFrom = "elsewhere" }, outcome{Verb: Update, Content: true, Status: true, Repair: true}},
		"the label is removed":                    {func(f *Facts) { f.Copy.Labelled, f.Copy.Proven = false, true }, outcome{Verb: Update, Content: true, Status: true, Repair: true}},
		"the annotation is removed":               {func(f *Facts) { f.writtenAt("9"); f.Copy.Copied = "" }, outcome{Verb: Update, Content: true, Status: true, Repair: true, Verify: true}},
		"a finalizer is added":                    {func(f *Facts) { f.writtenAt("9"); f.Copy.Finalized = true }, outcome{Verb: Update, Content: true, Status: true, Repair: true}},
		"the original has changed, too":           {func(f *Facts) { f.writtenAt("9"); f.original().Generation++ }, outcome{Verb: Update, Content: true, Status: true}},
		"the caches do not show the latest write": {func(f *Facts) { f.writtenAt("11"); f.Copy.Copied = "old" }, outcome{}},
		"it is being deleted":                     {func(f *Facts) { f.Copy.Deleting, f.Copy.ByManager = true, false }, outcome{}},
		"OLM v0 wrote it":                         {func(f *Facts) { f.byOLM() }, outcome{Verb: Update, Content: true, Status: true, Verify: true}},
		"a tenant's CSV under the manager's name": {func(f *Facts) { f.Copy.Copied = "" }, outcome{Verb: Update, Content: true, Status: true, Verify: true}},
		"another manager wrote it": {func(f *Facts) {
			f.Copy.CopiedFrom, f.Copy.OperatorNamespace, f.Managed = "theirs", "theirs", func(n string) bool { return n == "operators" }
		}, outcome{}},
		"an original with the label of copies": {func(f *Facts) { f.byOLM(); f.Copy.Finalized = true }, outcome{}},
		"the phase is not known any more":      {func(f *Facts) { f.original().Status.Phase = operatorsv1alpha1.CSVPhaseNone }, outcome{}},

		// Copies that must not exist.
		"no original":                                       {func(f *Facts) { f.withoutOriginal() }, outcome{Verb: Delete}},
		"no original of a copy of OLM v0":                   {func(f *Facts) { f.withoutOriginal(); f.byOLM() }, outcome{Verb: Delete, Verify: true}},
		"no original, in a namespace that is deleted":       {func(f *Facts) { f.withoutOriginal(); f.Namespace.DeletionTimestamp = new(metav1.NewTime(noon)) }, outcome{}},
		"the original is labelled by another client":        {func(f *Facts) { f.withoutOriginal(); f.Hidden = true }, outcome{}},
		"another client recreated what the manager deleted": {func(f *Facts) { f.withoutOriginal(); f.Deleted = true }, outcome{Verb: Delete, Repair: true}},
		"a copy that is no target any more":                 {func(f *Facts) { f.Candidates[0].Covers, f.Candidates[0].Everywhere = false, false }, outcome{Verb: Delete}},
		"a copy of a failed operator": {func(f *Facts) {
			f.original().Status.Reason = operatorsv1alpha1.CSVReasonInterOperatorGroupOwnerConflict
		}, outcome{Verb: Delete, Counts: true}},
		"a copy although copies are disabled":         {func(f *Facts) { f.Everywhere = Disabled }, outcome{Verb: Delete, Counts: true}},
		"a protected one":                             {func(f *Facts) { f.Everywhere, f.Protected = Disabled, true }, outcome{}},
		"one of several namespaces":                   {func(f *Facts) { f.Everywhere, f.Candidates[0].Everywhere = Disabled, false }, outcome{}},
		"it is not known whether copies are disabled": {func(f *Facts) { f.Everywhere = Unknown }, outcome{}},
		"a copy of an original that is being deleted": {func(f *Facts) { f.original().DeletionTimestamp = new(metav1.NewTime(noon)) }, outcome{}},
		"the same, no target any more": {func(f *Facts) {
			f.original().DeletionTimestamp = new(metav1.NewTime(noon))
			f.Candidates[0].Covers = false
		}, outcome{Verb: Delete, Counts: true}},
	} {
		t.Run(name, func(t *testing.T) {
			f := current()
			test.change(f)
			for i := range f.Candidates {
				f.Candidates[i].State = StateOf(f.Candidates[i].CSV)
			}
			got := Decide(*f)
			is := outcome{Verb: got.Verb, Verify: got.Verify, Repair: got.Repair, Counts: got.Counts}
			if got.Verb == Update {
				is.Content, is.Status = f.Copy.Outdated(got.Changed, StateOf(got.Original))
			}
			installtest.Same(t, "decision", test.want, is)
			if writes := got.Verb == Create || got.Verb == Update; writes != (got.Original != nil) {
				t.Errorf("%v of %v", got.Verb, got.Original)
			}
		})
	}
}

// Of two operators whose ClusterServiceVersions have one name, the copies are those of the elder, in every namespace.
func TestSourceOfOneName(t *testing.T) {
	elder, younger := originalIn("zoo"), originalIn("attic")
	younger.CreationTimestamp = metav1.NewTime(noon.Add(time.Second))
	for name, test := range map[string]struct {
		change func()
		want   string
	}{
		"the elder":                {func() {}, "zoo"},
		"the elder does not count": {func() { elder.Status.Reason = operatorsv1alpha1.CSVReasonNoOperatorGroup }, "attic"},
		"both of the same second":  {func() { younger.CreationTimestamp = elder.CreationTimestamp }, "attic"},
	} {
		t.Run(name, func(t *testing.T) {
			elder, younger = originalIn("zoo"), originalIn("attic")
			younger.CreationTimestamp = metav1.NewTime(noon.Add(time.Second))
			test.change()
			f := current()
			f.absent()
			f.Candidates = []Candidate{{CSV: younger, Covers: true}, {CSV: elder, Covers: true}}
			installtest.Same(t, "namespace of the original", test.want, Decide(*f).Original.Namespace)
		})
	}
}

func TestProvesCopy(t *testing.T) {
	for name, test := range map[string]struct {
		change func(csv *operatorsv1alpha1.ClusterServiceVersion)
		want   bool
	}{
		"a copy":         {func(*operatorsv1alpha1.ClusterServiceVersion) {}, true},
		"another reason": {func(csv *operatorsv1alpha1.ClusterServiceVersion) { csv.Status.Reason = "" }, false},
		"a finalizer": {func(csv *operatorsv1alpha1.ClusterServiceVersion) {
			csv.Finalizers = []string{"operators.coreos.com/csv-cleanup"}
		}, false},
		"its own namespace":       {func(csv *operatorsv1alpha1.ClusterServiceVersion) { csv.Annotations["olm.operatorNamespace"] = "shop" }, false},
		"no annotation of OLM v0": {func(csv *operatorsv1alpha1.ClusterServiceVersion) { csv.Annotations = nil }, false},
	} {
		t.Run(name, func(t *testing.T) {
			csv := originalIn("shop")
			csv.Annotations = map[string]string{"olm.operatorNamespace": "operators"}
			csv.Status.Reason = operatorsv1alpha1.CSVReasonCopied
			test.change(csv)
			installtest.Same(t, "a copy", test.want, ProvesCopy(csv))
		})
	}
}
