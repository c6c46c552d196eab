package csvspec

import (
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
)

const DefaultPort = 443

// ServiceName is the name of the Service in front of a Deployment. It is the one
// that OLM v0 gives, unless an object that is not the ClusterServiceVersion's has
// that name already (authors ship Services of their own): then another, and it
// stays the other as long as that one exists, because the serving certificate
// bears it.
func ServiceName(csv *operatorsv1alpha1.ClusterServiceVersion, deployment string, primaryTaken bool, alternateExists bool) string {
	if primaryTaken || alternateExists {
		return AlternateServiceName(csv, deployment)
	}
	return names.Service(deployment)
}

// AlternateServiceName is the name that ServiceName falls back to.
func AlternateServiceName(csv *operatorsv1alpha1.ClusterServiceVersion, deployment string) string {
	return names.Service(deployment + "." + csv.Name)
}
