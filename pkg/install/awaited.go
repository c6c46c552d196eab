package install

import (
	"slices"
	"strings"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/vocabulary"
)

// Converts is the index of the description by which a ClusterServiceVersion converts the
// objects of a CustomResourceDefinition; -1 when there is none.
func Converts(csv *operatorsv1alpha1.ClusterServiceVersion, crd string) int {
	return slices.IndexFunc(csv.Spec.WebhookDefinitions, func(d operatorsv1alpha1.WebhookDescription) bool {
		return d.Type == operatorsv1alpha1.ConversionWebhook && slices.Contains(d.ConversionCRDs, crd)
	})
}

// AwaitedVersion is how vocabulary.AnnotationAwaitedVersions names one.
func AwaitedVersion(crd, version string) string { return crd + "/" + version }

// awaited tells of a version that is not served yet, and does not have to be: whoever
// installs the ClusterServiceVersion has promised to serve it once its own webhook converts
// to it. Served before, its objects could not be read; served without a conversion, they
// would be relabelled and lose fields.
func awaited(f Facts, wanted operatorsv1alpha1.CRDDescription) bool {
	crd := f.CRDs[wanted.Name]
	return crd != nil && !slices.Contains(servedVersions(crd), wanted.Version) &&
		Converts(f.CSV, wanted.Name) >= 0 && f.CSV.OwnsCRD(wanted.Name) &&
		slices.Contains(strings.Split(f.CSV.Annotations[vocabulary.AnnotationAwaitedVersions], ","), AwaitedVersion(wanted.Name, wanted.Version))
}

// awaitedVersions are those of all definitions.
func awaitedVersions(f Facts) []string {
	var versions []string
	for _, d := range crdDescriptions(f.CSV) {
		if awaited(f, d) {
			versions = append(versions, AwaitedVersion(d.Name, d.Version))
		}
	}
	return versions
}
