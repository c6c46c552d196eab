package deploy

import (
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
)

// Reading is a version in which all objects are read, and the next versions whose schemas they have to match.
type Reading struct {
	Version string
	Fits    []string
}

// Readings returns the reads that are needed before a definition is replaced. Without a conversion webhook, one read
// covers all versions. With a webhook, each version that stays is read: it is responsible for a new version.
func Readings(live, next *apiextensionsv1.CustomResourceDefinition, csv *operatorsv1alpha1.ClusterServiceVersion) []Reading {
	relabelled := !webhookConverts(live)
	var readings []Reading
	for _, v := range versionsServed(live) {
		r := Reading{Version: v}
		for _, n := range versionsServed(next) {
			if n == v || relabelled && (apihelpers.HasServedCRDVersion(live, n) || csvspec.Converts(csv, next.Name) < 0) {
				r.Fits = append(r.Fits, n)
			}
		}
		if len(r.Fits) > 0 {
			readings = append(readings, r)
		}
		if relabelled && len(readings) > 0 {
			break
		}
	}
	return readings
}

func versionsServed(crd *apiextensionsv1.CustomResourceDefinition) []string {
	var served []string
	for _, v := range crd.Spec.Versions {
		switch {
		case v.Served && v.Storage:
			served = slices.Insert(served, 0, v.Name)
		case v.Served:
			served = append(served, v.Name)
		}
	}
	return served
}
