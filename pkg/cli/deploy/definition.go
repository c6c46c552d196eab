// Package deploy decides how bundles are installed, upgraded and removed. pkg/cli/installer executes that.
package deploy

import (
	"fmt"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/labels"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/storedversions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/storage"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
)

// Opening returns a definition as it is before its operator is installed. Versions that wait for a webhook of the
// operator are not served, and the storage version stays, so that clients are not blocked.
func Opening(live, next *apiextensionsv1.CustomResourceDefinition, csv *operatorsv1alpha1.ClusterServiceVersion) *apiextensionsv1.CustomResourceDefinition {
	awaited := Awaited(live, next, csv)
	if len(awaited) == 0 {
		return Serving(live, next, csv)
	}
	opening := Settled(live, next, csv)
	opening.Spec.Conversion = openingConversion(live, next, csv)
	keepStorage(opening, live)
	for i := range opening.Spec.Versions {
		v := &opening.Spec.Versions[i]
		v.Served = v.Served && !slices.Contains(awaited, v.Name)
	}
	return opening
}

// Serving returns a definition with all its versions and the current conversion. If there is no conversion yet,
// requests in other versions than the stored one fail until the webhook serves: without a conversion the API server
// would relabel objects, and they would lose fields.
func Serving(live, next *apiextensionsv1.CustomResourceDefinition, csv *operatorsv1alpha1.ClusterServiceVersion) *apiextensionsv1.CustomResourceDefinition {
	serving := Settled(live, next, csv)
	if live != nil {
		serving.Spec.Conversion = openingConversion(live, next, csv)
		keepStorage(serving, live)
	}
	if pending := csvspec.PendingConversion(csv, next); pending != nil && !webhookConverts(serving) {
		serving.Spec.Conversion = pending
	}
	return serving
}

// Awaited returns the versions, of a definition with others, that are served only once the operator converts to them.
func Awaited(live, next *apiextensionsv1.CustomResourceDefinition, csv *operatorsv1alpha1.ClusterServiceVersion) []string {
	if live == nil || csvspec.Converts(csv, next.Name) < 0 || !slices.ContainsFunc(next.Spec.Versions, named(storage.Stored(live))) {
		return nil
	}
	return lists.FilterMap(next.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) (string, bool) {
		return v.Name, v.Served && v.Name != storage.Stored(live) && !apihelpers.HasServedCRDVersion(live, v.Name)
	})
}

// AwaitedBy returns the versions of definitions that a ClusterServiceVersion has to wait for, as text.
func AwaitedBy(definitions map[string][]string) []string {
	var all []string
	for crd, versions := range definitions {
		for _, v := range versions {
			all = append(all, csvspec.CRDVersion(crd, v))
		}
	}
	slices.Sort(all)
	return all
}

// Settled returns the definition of the bundle with other live labels and annotations, and settledConversion.
func Settled(live, next *apiextensionsv1.CustomResourceDefinition, csv *operatorsv1alpha1.ClusterServiceVersion) *apiextensionsv1.CustomResourceDefinition {
	settled := next.DeepCopy()
	settled.Spec.Conversion = bundledConversion(next, csv)
	if live == nil {
		return settled
	}
	settled.ObjectMeta = *live.ObjectMeta.DeepCopy()
	settled.Labels, settled.Annotations = labels.Merge(live.Labels, next.Labels), labels.Merge(live.Annotations, next.Annotations)
	settled.Status = *live.Status.DeepCopy()
	settled.Spec.Conversion = settledConversion(live, next, csv)
	return settled
}

func keepStorage(opening, live *apiextensionsv1.CustomResourceDefinition) {
	kept := storage.Stored(live)
	if !slices.ContainsFunc(opening.Spec.Versions, named(kept)) {
		return
	}
	for i := range opening.Spec.Versions {
		v := &opening.Spec.Versions[i]
		v.Storage = v.Name == kept
	}
}

func named(name string) func(apiextensionsv1.CustomResourceDefinitionVersion) bool {
	return func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == name }
}

func webhookConverts(crd *apiextensionsv1.CustomResourceDefinition) bool {
	return crd.Spec.Conversion != nil && crd.Spec.Conversion.Strategy == apiextensionsv1.WebhookConverter
}

// Refusals returns why a definition cannot be replaced without a loss of stored objects, each with the next step.
func Refusals(live, next *apiextensionsv1.CustomResourceDefinition) []string {
	if live == nil {
		return nil
	}
	var refusals []string
	if live.Spec.Scope != next.Spec.Scope {
		refusals = append(refusals, fmt.Sprintf("CustomResourceDefinition %s: spec.scope cannot change from %s to %s: give the new version another kind", live.Name, live.Spec.Scope, next.Spec.Scope))
	}
	for _, stored := range storedversions.Possible(live) {
		if !slices.ContainsFunc(next.Spec.Versions, named(stored)) {
			refusals = append(refusals, fmt.Sprintf("CustomResourceDefinition %s: version %s vanishes, and %s: %s, then upgrade to this bundle",
				live.Name, stored, mayBeStored(live, stored), wayOut(live, next, stored)))
		}
	}
	return refusals
}

func mayBeStored(live *apiextensionsv1.CustomResourceDefinition, version string) string {
	if storedversions.Claimed(live, version) {
		return "status.storedVersions records that objects may be stored in it"
	}
	return "objects may be stored in it, although status.storedVersions lacks it: no storage migration has been completed since a StorageVersionMigration"
}

// wayOut is a storage migration to a version that stays. Both versions have to be served during the migration.
func wayOut(live, next *apiextensionsv1.CustomResourceDefinition, vanishing string) string {
	to := staying(live, next)
	if to == "" {
		to = storage.Stored(next)
		return fmt.Sprintf("upgrade first to a bundle that serves both %s and %s and converts between them, then %s", vanishing, to, wellknown.StorageMigration(live.Name, to))
	}
	if err := storage.Check(live, to); err != nil {
		return fmt.Sprintf("%v; then %s", err, wellknown.StorageMigration(live.Name, to))
	}
	return wellknown.StorageMigration(live.Name, to)
}

// staying is a served version that stays, if possible the stored one, or the one that will be; empty for none.
func staying(live, next *apiextensionsv1.CustomResourceDefinition) string {
	candidates := append([]string{storage.Stored(live), storage.Stored(next)},
		lists.Map(next.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) string { return v.Name })...)
	return lists.First(candidates, func(v string) bool {
		return apihelpers.HasServedCRDVersion(live, v) && slices.ContainsFunc(next.Spec.Versions, named(v))
	})
}
