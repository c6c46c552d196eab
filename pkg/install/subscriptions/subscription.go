package subscriptions

import (
	"cmp"
	"slices"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// Lister is how to find the Lister of one namespace, and its
// ClusterServiceVersions. There may be many of both, and each of those asks: so each
// question is for a name, and none for all.
type Lister struct {
	// Naming are the Lister of which CSVNames has that name.
	Naming func(csv string) []*operatorsv1alpha1.Subscription
	// Named is the ClusterServiceVersion of that name; nil when there is none.
	Named func(csv string) *operatorsv1alpha1.ClusterServiceVersion
	// Replacing are those with that name in spec.replaces, and maybe others.
	Replacing func(csv string) []*operatorsv1alpha1.ClusterServiceVersion
}

// CSVNames are the ClusterServiceVersions that a Subscription names: the one that it has
// installed, and the one that it starts with.
func CSVNames(s *operatorsv1alpha1.Subscription) []string {
	names := []string{s.Status.InstalledCSV}
	if s.Spec != nil {
		names = append(names, s.Spec.StartingCSV)
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return name == "" })
}

// Find is the Subscription that a ClusterServiceVersion was installed for,
// or nil: the one that names it as installed, else the one that starts with it, else
// the same for those that it replaces, the nearest first, and then for those that
// replace it: while the next version is on its way, the Subscription names but one
// of the two.
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

// lineage names a ClusterServiceVersion, those before it along spec.replaces, of
// which the last may be gone already, and those after it.
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

// after is the first by name, should there be many.
func (in Lister) after(csv string) string {
	var names []string
	for _, replacing := range in.Replacing(csv) {
		if replacing.Spec.Replaces == csv {
			names = append(names, replacing.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return slices.Min(names)
}
