package deploy

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/groupkind"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/lineage"
)

// Installed is a ClusterServiceVersion of a namespace.
type Installed struct {
	CSV *operatorsv1alpha1.ClusterServiceVersion
	// Package is what a Subscription or a record states: see bundle.Bundle.RecordedPackage. It is empty if none does.
	Package string
}

// belongsTo reports whether the version is known to belong to a package. An unknown package is equal to no other.
func (v Installed) belongsTo(packageName string) bool {
	return v.Package != "" && v.Package == packageName
}

// hasNoPackage reports whether the package is unknown: then a record has the name of the ClusterServiceVersion.
func (v Installed) hasNoPackage() bool { return v.Package == "" || v.Package == v.CSV.Name }

// CheckInstall refuses a bundle next to another version of the same operator.
func CheckInstall(csv *operatorsv1alpha1.ClusterServiceVersion, packageName string, there []Installed) error {
	for _, other := range there {
		name := other.CSV.Name
		switch phase := other.CSV.Status.Phase; {
		case slices.Contains(lineage.Replaced(csv), name):
			if phase != operatorsv1alpha1.CSVPhaseReplacing && phase != operatorsv1alpha1.CSVPhaseDeleting {
				return fmt.Errorf("%s, which %s replaces, is installed in %s: use bundle upgrade", name, csv.Name, other.CSV.Namespace)
			}
		case slices.Contains(lineage.Replaced(other.CSV), csv.Name):
			if phase := other.CSV.Status.Phase; phase != operatorsv1alpha1.CSVPhaseDeleting {
				return fmt.Errorf("%s, which replaces %s, is installed in %s: uninstall it first", name, csv.Name, other.CSV.Namespace)
			}
		case other.belongsTo(packageName):
			return fmt.Errorf("%s of the same package %s is installed in %s, and %s does not replace it (spec.replaces, spec.skips): upgrade through the versions between, or uninstall it first",
				name, packageName, other.CSV.Namespace, csv.Name)
		}
	}
	return nil
}

// Replaced returns the versions that a version replaces, each with its kind, namespace and name alone.
func Replaced(csv *operatorsv1alpha1.ClusterServiceVersion) (all []*unstructured.Unstructured) {
	for _, name := range lineage.Replaced(csv) {
		all = append(all, CSVObject(&operatorsv1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: csv.Namespace, Name: name}}))
	}
	return all
}

// CSVObject returns a ClusterServiceVersion as records know it.
func CSVObject(csv *operatorsv1alpha1.ClusterServiceVersion) *unstructured.Unstructured {
	kind := metav1.TypeMeta{APIVersion: operatorsv1alpha1.ClusterServiceVersionAPIVersion, Kind: operatorsv1alpha1.ClusterServiceVersionKind}
	o := Recorded{TypeMeta: kind, Namespace: csv.Namespace, Name: csv.Name}.object()
	o.SetUID(csv.UID)
	o.SetAnnotations(csv.Annotations)
	return o
}

// CheckUpgrade refuses a bundle that would replace a version of another package, or of an unknown one without adoption.
func CheckUpgrade(csv *operatorsv1alpha1.ClusterServiceVersion, packageName string, replaced []Installed, adopted []string) error {
	for _, other := range replaced {
		reference := fmt.Sprintf("%s/%s/%s", groupkind.ClusterServiceVersion, other.CSV.Namespace, other.CSV.Name)
		switch {
		case other.CSV.Name == csv.Name || other.belongsTo(packageName) || other.hasNoPackage() && slices.Contains(adopted, reference):
		case other.hasNoPackage():
			return fmt.Errorf("no Subscription and no installation by these commands states to which package %s in %s belongs: if %s is its next version, replace it with --adopt %s",
				other.CSV.Name, other.CSV.Namespace, csv.Name, reference)
		default:
			return fmt.Errorf("%s in %s belongs to package %s, and the bundle of %s to package %q: a bundle replaces only versions of its own package",
				other.CSV.Name, other.CSV.Namespace, other.Package, csv.Name, packageName)
		}
	}
	return nil
}
