package deploy

import (
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
)

// Reading is a version in which all objects of a definition are read, and the versions of
// the next definition whose schemas they have to fit.
type Reading struct {
	Version string
	Fits    []string
}

// Readings returns all reads that have to be done before a definition becomes the next. Relabelled objects
// are the same in every version: one read covers all of them. Where a webhook
// converts, each version that stays is read on its own, and what comes of objects in a
// version that is new is that webhook's to answer for.
func Readings(live, next *apiextensionsv1.CustomResourceDefinition, csv *operatorsv1alpha1.ClusterServiceVersion) []Reading {
	relabelled := !webhookConverts(live)
	var readings []Reading
	for _, v := range VersionsServed(live) {
		r := Reading{Version: v}
		for _, n := range VersionsServed(next) {
			if n == v || relabelled && (serves(live, n) || csvspec.Converts(csv, next.Name) < 0) {
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

// VersionsServed are the served versions of a definition, the stored one first.
func VersionsServed(crd *apiextensionsv1.CustomResourceDefinition) []string {
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
