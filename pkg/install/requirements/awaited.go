package requirements

import (
	"slices"
	"strings"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
)

// awaited tells of a version that is not served yet, and does not have to be: whoever
// installs the ClusterServiceVersion has promised to serve it once its own webhook converts
// to it. Served before, its objects could not be read; served without a conversion, they
// would be relabelled and lose fields.
func awaited(f Facts, wanted operatorsv1alpha1.CRDDescription) bool {
	crd := f.CRDs[wanted.Name]
	return crd != nil && !slices.Contains(servedVersions(crd), wanted.Version) &&
		csvspec.Converts(f.CSV, wanted.Name) >= 0 && f.CSV.OwnsCRD(wanted.Name) &&
		slices.Contains(strings.Split(f.CSV.Annotations[wellknown.AnnotationAwaitedVersions], ","), csvspec.CRDVersion(wanted.Name, wanted.Version))
}

// awaitedVersions are those of all definitions.
func awaitedVersions(f Facts) []string {
	var versions []string
	for _, d := range csvspec.CRDDescriptions(f.CSV) {
		if awaited(f, d) {
			versions = append(versions, csvspec.CRDVersion(d.Name, d.Version))
		}
	}
	return versions
}
