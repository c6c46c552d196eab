package csvspec_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

var noon = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

func writeBy(manager string, after time.Duration, subresource string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{Manager: manager, Time: new(metav1.NewTime(noon.Add(after))), Subresource: subresource}
}

func TestMarksOf(t *testing.T) {
	csv := &operatorsv1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{
		Labels:      map[string]string{"olm.copiedFrom": "operators"},
		Annotations: map[string]string{"olm.operatorNamespace": "operators", "olm-webhook-manager.io/copied-state": "1.2"},
		Finalizers:  []string{"operators.coreos.com/csv-cleanup"},
	}}
	want := csvspec.Marks{Labelled: true, CopiedFrom: "operators", OperatorNamespace: "operators", Copied: "1.2", Finalized: true}
	installtest.Same(t, "marks", want, csvspec.MarksOf(csv))
	installtest.Same(t, "marks of a CSV without any", csvspec.Marks{}, csvspec.MarksOf(&operatorsv1alpha1.ClusterServiceVersion{}))
}

func TestLastWriter(t *testing.T) {
	const own = "olm-webhook-manager"
	for name, test := range map[string]struct {
		writes            []metav1.ManagedFieldsEntry
		byManager, status bool
	}{
		"only the manager":                  {[]metav1.ManagedFieldsEntry{writeBy(own, 0, ""), writeBy(own, time.Second, "status")}, true, true},
		"the status is not written":         {[]metav1.ManagedFieldsEntry{writeBy(own, 0, "")}, true, false},
		"another client before":             {[]metav1.ManagedFieldsEntry{writeBy("olm", 0, "status"), writeBy(own, time.Second, "")}, true, true},
		"another client after":              {[]metav1.ManagedFieldsEntry{writeBy(own, 0, ""), writeBy("kubectl-edit", time.Second, "")}, false, false},
		"another client's status":           {[]metav1.ManagedFieldsEntry{writeBy(own, 0, ""), writeBy("curl", time.Second, "status")}, false, true},
		"another client in the same second": {[]metav1.ManagedFieldsEntry{writeBy(own, 0, ""), writeBy("kubectl-edit", 0, "")}, false, false},
		"the same, in the other order":      {[]metav1.ManagedFieldsEntry{writeBy("kubectl-edit", 0, ""), writeBy(own, 0, "")}, false, false},
		"a write without a time":            {[]metav1.ManagedFieldsEntry{writeBy(own, 0, ""), {Manager: "apply"}}, false, false},
		"the managed fields are removed":    {nil, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			marks := csvspec.MarksOf(&operatorsv1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{ManagedFields: test.writes}})
			installtest.Same(t, "the latest write is the manager's", test.byManager, marks.ByManager)
			installtest.Same(t, "the status is written", test.status, marks.HasStatus)
		})
	}
}

func TestDisguiseOriginal(t *testing.T) {
	label := csvspec.Marks{Labelled: true, CopiedFrom: "elsewhere"}
	for name, test := range map[string]struct {
		marks    func(m *csvspec.Marks)
		recorded bool
		want     bool
	}{
		"a label on an original":                    {func(m *csvspec.Marks) { m.Finalized, m.OperatorNamespace = true, "shop" }, false, true},
		"on one that has no scope yet":              {func(m *csvspec.Marks) { m.Finalized = true }, false, true},
		"an empty label":                            {func(m *csvspec.Marks) { m.Finalized, m.CopiedFrom = true, "" }, false, true},
		"a copy of OLM v0":                          {func(m *csvspec.Marks) { m.OperatorNamespace = "elsewhere" }, false, false},
		"a CSV that is not installed":               {func(*csvspec.Marks) {}, false, false},
		"a copy to which a client adds a finalizer": {func(m *csvspec.Marks) { m.Finalized, m.OperatorNamespace = true, "elsewhere" }, false, false},
		"the same, written by the manager":          {func(m *csvspec.Marks) { m.Finalized, m.Copied = true, "1.2" }, false, false},
		"label and annotations on an original":      {func(m *csvspec.Marks) { m.Finalized, m.OperatorNamespace, m.Copied = true, "elsewhere", "1.2" }, true, true},
		"only an annotation on an original":         {func(m *csvspec.Marks) { *m = csvspec.Marks{Finalized: true, OperatorNamespace: "elsewhere"} }, true, true},
		"an original without such marks":            {func(m *csvspec.Marks) { *m = csvspec.Marks{Finalized: true, OperatorNamespace: "shop"} }, true, false},
		"an original whose finalizer was removed":   {func(*csvspec.Marks) {}, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			marks := label
			test.marks(&marks)
			installtest.Same(t, "disguised", test.want, marks.DisguiseOriginal("shop", test.recorded))
		})
	}
}
