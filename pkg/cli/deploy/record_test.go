package deploy

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// object is one that was written by these field managers.
func object(kind, namespace string, uid types.UID, managers ...string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"value": "old"}}
	o.SetAPIVersion("example.com/v1")
	o.SetKind(kind)
	o.SetNamespace(namespace)
	o.SetName("shop")
	o.SetUID(uid)
	fields := lists.Map(managers, func(m string) metav1.ManagedFieldsEntry { return metav1.ManagedFieldsEntry{Manager: m} })
	o.SetManagedFields(fields)
	return o
}

func naming(installation string, o *unstructured.Unstructured) *unstructured.Unstructured {
	o.SetAnnotations(map[string]string{wellknown.AnnotationInstallation: installation})
	return o
}

func TestStepOf(t *testing.T) {
	record := func(uid types.UID, created bool, namespace string) Record {
		return Record{Namespace: "mall", Package: "shop", Objects: []Recorded{{TypeMeta: metav1.TypeMeta{APIVersion: "example.com/v2", Kind: "Class"}, Namespace: namespace, Name: "shop", UID: uid, Created: created}}}
	}
	changed := func(o *unstructured.Unstructured) *unstructured.Unstructured {
		o = o.DeepCopy()
		o.Object["value"] = "new"
		return o
	}
	for name, test := range map[string]struct {
		live    *unstructured.Unstructured
		changes bool
		record  Record
		want    Action
		removes bool
	}{
		"does not exist":                            {want: Create},
		"created by the installation":               {live: naming("mall/shop", object("Class", "", "1", FieldManager)), changes: true, record: record("1", true, ""), want: Update, removes: true},
		"changed by the installation":               {live: object("Class", "", "1", "terraform", FieldManager), changes: true, record: record("1", false, ""), want: Update},
		"of another owner, the same":                {live: object("Class", "", "1", "terraform"), want: Keep},
		"of another owner, different":               {live: object("Class", "", "1", "terraform"), changes: true, want: Overwrite},
		"recreated by another owner":                {live: object("Class", "", "2", "terraform"), changes: true, record: record("1", true, ""), want: Overwrite},
		"a record that names another's object":      {live: object("Class", "", "1", FieldManager), changes: true, record: record("1", true, ""), want: Overwrite},
		"of another installation":                   {live: naming("mall/stock", object("Class", "", "1", FieldManager)), changes: true, record: record("1", true, ""), want: Overwrite},
		"changed, of another installation":          {live: naming("mall/stock", object("Class", "", "1", FieldManager)), changes: true, record: record("1", false, ""), want: Overwrite},
		"that names the installation, unrecorded":   {live: naming("mall/shop", object("Class", "", "1", FieldManager)), changes: true, want: Overwrite},
		"without fields, in its own namespace":      {live: object("Class", "mall", "1", "openshift"), record: record("1", true, "mall"), want: Update, removes: true},
		"interrupted before the uid was recorded":   {live: naming("mall/shop", object("Class", "", "1", FieldManager)), record: record("", true, ""), want: Update, removes: true},
		"interrupted, and then created by another":  {live: object("Class", "", "1", FieldManager), changes: true, record: record("", true, ""), want: Overwrite},
		"interrupted, then of another installation": {live: naming("mall/stock", object("Class", "", "1", FieldManager)), changes: true, record: record("", true, ""), want: Overwrite},
		"another kind":                              {live: object("Other", "", "1", FieldManager), changes: true, record: record("1", true, ""), want: Overwrite},
	} {
		t.Run(name, func(t *testing.T) {
			desired, answered := object("Class", "", ""), test.live
			if test.changes {
				answered = changed(test.live)
			}
			s := StepOf(desired, test.live, answered, test.record)
			installtest.Same(t, "action", test.want, s.Action)
			if test.live != nil && test.record.Created(test.live) != test.removes {
				t.Errorf("a removal takes it: %t", !test.removes)
			}
		})
	}
}

// A step is carried out only on the object that it was decided about; what else exists is named.
func TestOutdated(t *testing.T) {
	edited := object("Class", "", "1", "terraform")
	edited.Object["value"] = "new"
	for name, test := range map[string]struct {
		step Step
		now  *unstructured.Unstructured
		says string
	}{
		"still absent":                   {step: Step{Action: Create}},
		"created by another":             {step: Step{Action: Create}, now: object("Class", "", "1", "terraform"), says: "Class.example.com shop was created by another client (written by terraform)"},
		"the same":                       {step: Step{Action: Update, Live: object("Class", "", "1")}, now: edited},
		"deleted":                        {step: Step{Action: Update, Live: object("Class", "", "1")}, says: "was deleted"},
		"replaced":                       {step: Step{Action: Update, Live: object("Class", "", "1")}, now: object("Class", "", "2"), says: "was replaced"},
		"to be overwritten, unchanged":   {step: Step{Action: Overwrite, Live: object("Class", "", "1")}, now: object("Class", "", "1", "terraform")},
		"to be overwritten, and changed": {step: Step{Action: Overwrite, Live: object("Class", "", "1")}, now: edited, says: "(value)"},
	} {
		t.Run(name, func(t *testing.T) {
			test.step.Object = object("Class", "", "")
			err := test.step.Outdated(test.now)
			installtest.Error(t, test.says, err)
		})
	}
}

// What is created names the installation; what another client created does not.
func TestMarked(t *testing.T) {
	r, o := Record{Namespace: "mall", Package: "shop"}, object("Class", "", "")
	for name, test := range map[string]struct {
		live *unstructured.Unstructured
		want string
	}{
		"absent":                  {want: "mall/shop"},
		"of the installation":     {live: naming("mall/shop", object("Class", "", "1")), want: "mall/shop"},
		"of another installation": {live: naming("mall/stock", object("Class", "", "1"))},
		"of another client":       {live: object("Class", "", "1")},
	} {
		installtest.Same(t, name+": the annotation", test.want, r.Annotate(o, test.live).GetAnnotations()[wellknown.AnnotationInstallation])
	}
	installtest.Same(t, "annotations of the manifest itself", 0, len(o.GetAnnotations()))
}

// A record without an installed version belongs to an interrupted installation, or to what a removal has kept.
func TestRemovalWithoutAnInstalledVersion(t *testing.T) {
	interrupted := Record{Next: "shop.v1"}
	installtest.Must(t, CheckRemoval(interrupted, "shop.v1", "mall"))
	installtest.Error(t, "remove shop.v1 with its own bundle", CheckRemoval(interrupted, "shop.v2", "mall"))
	kept := Record{Namespace: "mall", Package: "shop", Objects: []Recorded{{Name: "shops.example.com"}}}
	for name, test := range map[string]struct {
		record   Record
		reported bool
	}{
		"a removal kept objects": {kept, true},
		"no record":              {Record{Namespace: "mall", Package: "shop"}, false},
		"it is installed":        {Record{CSV: "shop.v1", Objects: kept.Objects}, false},
	} {
		var r Removal
		none := func(*unstructured.Unstructured) (*unstructured.Unstructured, error) { return nil, nil }
		installtest.Must(t, r.Restrict(test.record, nil, nil, none))
		reported := slices.Contains(r.Messages, "no version of package shop is installed in namespace mall: only objects that an earlier removal kept can be removed")
		if reported != test.reported || CheckRemoval(test.record, "shop.v1", "mall") != nil {
			t.Errorf("%s: the messages are %q", name, r.Messages)
		}
	}
}

// Until all objects of a version are written, the record has both versions.
func TestRecordOfAnUpgrade(t *testing.T) {
	r := Record{CSV: "shop.v1"}
	r.Next = "shop.v2"
	for _, csv := range []string{"shop.v1", "shop.v2"} {
		if !r.Has(csv) || CheckRemoval(r, csv, "mall") != nil {
			t.Errorf("during the upgrade %s is unknown", csv)
		}
	}
	if r.Has("") || CheckRemoval(r, "shop.v3", "mall") == nil {
		t.Error("another version is known")
	}
	r.CSV, r.Next = r.Next, ""
	installtest.Same(t, "the record has shop.v1 after the upgrade", false, r.Has("shop.v1"))
	installtest.Same(t, "the record has shop.v2 after the upgrade", true, r.Has("shop.v2"))
}

// What exists is described, unless the installation has created it and does not change it.
func TestChanges(t *testing.T) {
	namespace := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "shop", "labels": map[string]any{"level": "privileged"}}}}
	unowned := object("Class", "", "2", "terraform")
	account := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": map[string]any{"name": "other", "namespace": "mall"}}}
	own := account.DeepCopy()
	own.SetName("own")
	steps := []Step{
		{Object: object("Created", "", ""), Action: Create},
		{Object: object("Kept", "", ""), Live: object("Kept", "", "1"), Action: Keep},
		{Object: object("Unchanged", "", ""), Live: object("Unchanged", "", "1"), Action: Update},
		{Object: object("Role", "mall", ""), Live: object("Role", "mall", "1"), Action: Update, Changed: []string{"rules"}},
		{Object: namespace, Live: namespace, Action: Update, Changed: []string{"metadata.labels.level"}},
		{Object: object("Class", "", ""), Live: unowned, Action: Overwrite, Changed: []string{"value"}},
		{Object: object("Other", "", ""), Live: unowned, Action: Overwrite, Changed: []string{"value"}},
		{Object: account, Live: account, Action: Keep},
		{Object: own, Live: own, Action: Update},
		{Object: own, Action: Create},
	}
	want := []string{
		"permissions: ServiceAccount mall/other exists and was not created by this installation: pods that use it may do all that it may do already",
		"to be overwritten: Class.example.com shop exists and was not created by this installation (written by terraform); it would change value",
		"to be changed: Role.example.com mall/shop: rules",
		`to be changed: Namespace shop: label level="privileged"`,
		"not changed: Kept.example.com shop exists, and is as the bundle has it",
		"not changed: ServiceAccount mall/other exists, and is as the bundle has it",
	}
	installtest.Same(t, "record", want, Changes(steps, []string{Reference(steps[5].Object)}))
}

// A record is read as it was written, and keeps what was created when it is written again.
func TestRecord(t *testing.T) {
	var r Record
	created, adopted := Step{Object: object("Class", "", ""), Action: Create}, Step{Object: object("Role", "mall", ""), Live: object("Role", "mall", "2"), Action: Overwrite}
	r.Add(created)
	r.Add(adopted)
	r.Add(Step{Object: object("Kept", "", ""), Live: object("Kept", "", "3"), Action: Keep})
	r.SetUID(object("Class", "", "1"))
	r.Add(Step{Object: created.Object, Live: object("Class", "", "1"), Action: Update})
	data := installtest.OrPanic(r.Data())
	again, err := ReadRecord(&corev1.ConfigMap{Data: data})
	installtest.Must(t, err)
	want := []Recorded{
		{TypeMeta: metav1.TypeMeta{APIVersion: "example.com/v1", Kind: "Class"}, Name: "shop", UID: "1", Created: true},
		{TypeMeta: metav1.TypeMeta{APIVersion: "example.com/v1", Kind: "Role"}, Namespace: "mall", Name: "shop", UID: "2"},
	}
	installtest.Same(t, "record", want, again.Objects)
}

func version(name, replaces string, skips ...string) *operatorsv1alpha1.ClusterServiceVersion {
	csv := &operatorsv1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "mall"}}
	csv.Spec.Replaces, csv.Spec.Skips = replaces, skips
	return csv
}

func TestRefuseInstall(t *testing.T) {
	for name, test := range map[string]struct {
		csv       *operatorsv1alpha1.ClusterServiceVersion
		there     Installed
		refused   bool
		noUpgrade bool
		adopted   string
	}{
		"another package":                  {csv: version("shop.v2", "shop.v1"), there: Installed{version("stock.v1", ""), "stock"}, noUpgrade: true},
		"of no known package":              {csv: version("shop.v2", "shop.v1"), there: Installed{version("stock.v1", ""), ""}, noUpgrade: true},
		"of no known package, adopted":     {csv: version("shop.v2", "shop.v1"), there: Installed{version("stock.v1", ""), ""}, adopted: "ClusterServiceVersion.operators.coreos.com/mall/stock.v1"},
		"of another package, adopted":      {csv: version("shop.v2", "shop.v1"), there: Installed{version("stock.v1", ""), "stock"}, noUpgrade: true, adopted: "ClusterServiceVersion.operators.coreos.com/mall/stock.v1"},
		"replaces it":                      {csv: version("shop.v2", "shop.v1"), there: Installed{version("shop.v1", ""), "shop"}, refused: true},
		"skips it":                         {csv: version("shop.v3", "shop.v2", "shop.v1"), there: Installed{version("shop.v1", ""), "shop"}, refused: true},
		"does not replace it":              {csv: version("shop.v3", "shop.v2"), there: Installed{version("shop.v1", ""), "shop"}, refused: true},
		"is replaced by it":                {csv: version("shop.v1", ""), there: Installed{version("shop.v2", "shop.v1"), ""}, refused: true, noUpgrade: true},
		"replaces that of another package": {csv: version("shop.v2", "stock.v1"), there: Installed{version("stock.v1", ""), "stock"}, refused: true, noUpgrade: true},
	} {
		installtest.Same(t, name+": install is refused", test.refused, CheckInstall(test.csv, "shop", []Installed{test.there}) != nil)
		installtest.Same(t, name+": upgrade is refused", test.noUpgrade, CheckUpgrade(test.csv, "shop", []Installed{test.there}, []string{test.adopted}) != nil)
	}
}

// A bundle without a package has the name of its ClusterServiceVersion in Subscription and record. That proves nothing
// about another version, and an unknown package is equal to none.
func TestUnknownPackages(t *testing.T) {
	const adopted = "ClusterServiceVersion.operators.coreos.com/mall/shop.v1"
	for name, test := range map[string]struct {
		bundle, there string
		want          string // in the error without --adopt
		adoptable     bool
	}{
		"both unknown":                            {"", "", "--adopt " + adopted, true},
		"the installed one is unknown":            {"shop", "", "--adopt " + adopted, true},
		"the bundle's is unknown":                 {"", "shop", "belongs to package shop", false},
		"its own earlier version, without one":    {"shop.v2", "shop.v1", "--adopt " + adopted, true},
		"one without a package, and another":      {"stock", "shop.v1", "--adopt " + adopted, true},
		"one without a package, by unknown":       {"", "shop.v1", "--adopt " + adopted, true},
		"a package by a bundle without one":       {"shop.v2", "stock", "belongs to package stock", false},
		"a package that is named like the bundle": {"shop.v1", "shop.v1", "", true},
		"the same package":                        {"shop", "shop", "", true},
	} {
		t.Run(name, func(t *testing.T) {
			next, there := version("shop.v2", "shop.v1"), []Installed{{version("shop.v1", ""), test.there}}
			installtest.Error(t, test.want, CheckUpgrade(next, test.bundle, there, nil))
			installtest.Same(t, "it can be adopted", test.adoptable, CheckUpgrade(next, test.bundle, there, []string{adopted}) == nil)
			next.Spec.Replaces = ""
			installtest.Same(t, "install next to it is refused", test.bundle != "" && test.bundle == test.there, CheckInstall(next, test.bundle, there) != nil)
		})
	}
}

// An edited record must not exhaust the memory of a command.
func TestRecordWithAliases(t *testing.T) {
	text := "a: &a [" + strings.Repeat("x,", 9999) + "]\nb: &b [" + strings.Repeat("*a,", 9999) + "]\nc: [" + strings.Repeat("*b,", 9999) + "]\n"
	_, err := ReadRecord(&corev1.ConfigMap{Data: map[string]string{recordKey: text}})
	installtest.Error(t, "repeat too much", err)
}

// No bundle brings a record, neither its own nor that of another package.
func TestIsRecord(t *testing.T) {
	for name, test := range map[string]struct {
		apiVersion, kind, name string
		want                   bool
	}{
		"a record":            {"v1", "ConfigMap", RecordName("package"), true},
		"another ConfigMap":   {"v1", "ConfigMap", "package", false},
		"another kind":        {"v1", "Secret", RecordName("package"), false},
		"a kind of that name": {"example.com/v1", "ConfigMap", RecordName("package"), false},
	} {
		o := object(test.kind, "", "")
		o.SetAPIVersion(test.apiVersion)
		o.SetName(test.name)
		installtest.Same(t, name, test.want, IsRecord(o))
	}
}
