package subscriptions

import (
	"cmp"
	"slices"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
)

// Lister finds by name: every CSV needs its Subscription, so to list all each time would be too expensive.
type Lister struct {
	// Naming returns the Subscriptions for which CSVNames contains the name.
	Naming func(csv string) []*operatorsv1alpha1.Subscription
	// Named returns the CSV with the name, or nil.
	Named func(csv string) *operatorsv1alpha1.ClusterServiceVersion
	// Replacing returns the CSVs whose spec.replaces is the name. It may return others as well.
	Replacing func(csv string) []*operatorsv1alpha1.ClusterServiceVersion
}

// CSVNames returns the CSVs that a Subscription names in status.installedCSV, status.currentCSV and spec.startingCSV. A
// catalog writes currentCSV before it creates the CSV, and installedCSV later.
func CSVNames(s *operatorsv1alpha1.Subscription) []string {
	names := []string{s.Status.InstalledCSV, s.Status.CurrentCSV}
	if s.Spec != nil {
		names = append(names, s.Spec.StartingCSV)
	}
	return slices.DeleteFunc(lists.Sorted(names), func(name string) bool { return name == "" })
}

// Find prefers the Subscription that names the CSV as installed, then as current or starting CSV, then the ones that name a
// replaced version, nearest first, or a replacing one: during an upgrade it names only one of the two
// versions.
func Find(csv *operatorsv1alpha1.ClusterServiceVersion, in Lister) *operatorsv1alpha1.Subscription {
	for _, name := range in.lineage(csv) {
		named := slices.SortedFunc(slices.Values(in.Naming(name)), func(a, b *operatorsv1alpha1.Subscription) int {
			return cmp.Compare(a.Name, b.Name)
		})
		if i := slices.IndexFunc(named, func(s *operatorsv1alpha1.Subscription) bool { return s.Status.InstalledCSV == name }); i >= 0 {
			return named[i]
		}
		if len(named) > 0 {
			return named[0]
		}
	}
	return nil
}

// AlsoNaming returns the names of all Subscriptions that name a version of the operator, except the one that Find returns,
// sorted.
func AlsoNaming(csv *operatorsv1alpha1.ClusterServiceVersion, in Lister) []string {
	found := Find(csv, in)
	var others []string
	for _, name := range in.lineage(csv) {
		for _, s := range in.Naming(name) {
			if s.Name != found.Name {
				others = append(others, s.Name)
			}
		}
	}
	return lists.Sorted(others)
}

// lineage also follows successors. The last predecessor may be deleted.
func (in Lister) lineage(csv *operatorsv1alpha1.ClusterServiceVersion) []string {
	names := []string{csv.Name}
	follow := func(name string, next func(string) string) {
		for ; name != "" && !slices.Contains(names, name); name = next(name) {
			names = append(names, name)
		}
	}
	follow(csv.Spec.Replaces, in.before)
	follow(in.after(csv.Name), in.after)
	return names
}

func (in Lister) before(csv string) string {
	if named := in.Named(csv); named != nil {
		return named.Spec.Replaces
	}
	return ""
}

func (in Lister) after(csv string) string {
	names := lists.FilterMap(in.Replacing(csv), func(other *operatorsv1alpha1.ClusterServiceVersion) (string, bool) {
		return other.Name, other.Spec.Replaces == csv
	})
	if len(names) == 0 {
		return ""
	}
	return slices.Min(names)
}
