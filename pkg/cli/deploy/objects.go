package deploy

import (
	"context"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
)

// Reading is a version in which all objects of a definition are read, and the versions of
// the next definition whose schemas they have to fit.
type Reading struct {
	Version string
	Fits    []string
}

// Readings are all that have to be done before a definition becomes the next. What is merely
// relabelled is the same in every version: one reading tells of all. Where a webhook
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

// Fitting judges objects by the schemas of a definition's versions.
type Fitting struct {
	schemas map[string]*schema
	fits    []string
}

// NewFitting is for the objects of one reading.
func NewFitting(next *apiextensionsv1.CustomResourceDefinition, r Reading) (*Fitting, error) {
	f := &Fitting{schemas: map[string]*schema{}}
	for _, version := range r.Fits {
		s, err := schemaOf(next, version)
		if err != nil {
			return nil, err
		}
		if s != nil {
			f.schemas[version], f.fits = s, append(f.fits, version)
		}
	}
	return f, nil
}

// Refuse says why objects could not be written as they are once the definition is the next
// one, and the way out.
func (f *Fitting) Refuse(ctx context.Context, objects []unstructured.Unstructured) []string {
	var refusals []string
	for _, o := range objects {
		for _, version := range f.fits {
			as := o.DeepCopy()
			as.SetAPIVersion(o.GroupVersionKind().Group + "/" + version)
			if found := f.schemas[version].refuse(ctx, as.Object); len(found) > 0 {
				refusals = append(refusals, fmt.Sprintf("%s %s: the next schema of version %s refuses it: %v: change the object first", o.GetKind(), nameOf(o), version, found.ToAggregate()))
			}
		}
	}
	return refusals
}

func nameOf(o unstructured.Unstructured) string {
	if o.GetNamespace() == "" {
		return o.GetName()
	}
	return o.GetNamespace() + "/" + o.GetName()
}
