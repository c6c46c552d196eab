package conversion

import (
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/storedversions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
)

// End is how conversions come to their end.
type End struct {
	// CRDs are the CustomResourceDefinitions that need no conversion any more.
	CRDs []*apiextensionsv1.CustomResourceDefinition
	// Count are those of which it must be known first whether they have objects.
	Count []string
	// InUse says which conversions cannot end yet, and what to do about it.
	InUse string
}

// EndAll decides which of the CustomResourceDefinitions that are converted by
// Services of a namespace may go without. Without a conversion the API server merely
// relabels objects, and the next write in another version would drop the fields
// that this one does not have: so a definition must have no objects, or exactly
// one version, which is served and the only one stored. To force it ends them all
// the same.
func EndAll(namespace string, services map[string]bool, crds []*apiextensionsv1.CustomResourceDefinition, objects map[string]int, force bool) End {
	var end End
	var needed []string
	for _, crd := range crds {
		by, service := owners.ConvertedBy(crd)
		if by != namespace || !services[service] {
			continue
		}
		switch EndingOf(crd, objects, force) {
		case Ends:
			end.CRDs = append(end.CRDs, crd)
		case EndUnknown:
			end.Count = append(end.Count, crd.Name)
		default:
			needed = append(needed, InUse(crd, objects[crd.Name]))
		}
	}
	end.InUse = lostFieldsMessage(needed)
	return end
}

// lostFieldsMessage says why conversions cannot end. How many there are and the ways out come first: a
// condition shows the beginning only.
func lostFieldsMessage(held []string) string {
	if len(held) == 0 {
		return ""
	}
	slices.Sort(held)
	objects := "objects"
	if len(held) > 1 {
		objects = fmt.Sprintf("objects of %d definitions", len(held))
	}
	return fmt.Sprintf("without the conversion webhook %s would lose fields: migrate or delete them, or end the conversion all the same by the annotation %s=true on the ClusterServiceVersion. %s",
		objects, wellknown.AnnotationForceConversion, strings.Join(held, "; "))
}

// Ending says whether a definition may go without its conversion.
type Ending int

// The values of Ending.
const (
	EndUnknown Ending = iota // it is not counted whether it has objects
	Ends
	needed // by objects
)

// EndingOf decides whether a definition may have no conversion, by the number of its objects.
func EndingOf(crd *apiextensionsv1.CustomResourceDefinition, objects map[string]int, force bool) Ending {
	n, counted := objects[crd.Name]
	switch {
	case force || oneVersion(crd) || counted && n == 0:
		return Ends
	case !counted:
		return EndUnknown
	default:
		return needed
	}
}

// SomeObjects is the number of a definition's objects where nobody can count them.
const SomeObjects = -1

// InUse says why a definition cannot do without its conversion, and the commands after
// which it can. How many objects are stored in which version, no API server tells.
func InUse(crd *apiextensionsv1.CustomResourceDefinition, objects int) string {
	version, others := keptVersion(crd), served(crd)
	others = slices.DeleteFunc(others, func(v string) bool { return v == version })
	why := fmt.Sprintf("%s has %s, stored in %s, and serves %s", crd.Name, counted(objects), strings.Join(storedversions.Possible(crd), " or "), strings.Join(served(crd), ", "))
	var do []string
	if !storedversions.Only(crd, version) {
		do = append(do, wellknown.StorageMigration(crd.Name, version))
	}
	if len(others) > 0 {
		do = append(do, fmt.Sprintf("set served: false in it for %s", strings.Join(others, ", ")))
	}
	return why + ": " + strings.Join(do, ", then ")
}

func counted(objects int) string {
	switch objects {
	case SomeObjects:
		return "objects"
	case 1:
		return "1 object"
	default:
		return fmt.Sprintf("%d objects", objects)
	}
}

// keptVersion is the one that is left with least ado: the one that objects are stored in,
// if it is served.
func keptVersion(crd *apiextensionsv1.CustomResourceDefinition) string {
	kept := ""
	for _, v := range crd.Spec.Versions {
		if v.Served && (kept == "" || v.Storage) {
			kept = v.Name
		}
	}
	return kept
}

// oneVersion tells whether all objects are of the only version that is served.
func oneVersion(crd *apiextensionsv1.CustomResourceDefinition) bool {
	serves := served(crd)
	return len(serves) == 1 && storedversions.Only(crd, serves[0])
}

func served(crd *apiextensionsv1.CustomResourceDefinition) []string {
	var versions []string
	for _, v := range crd.Spec.Versions {
		if v.Served {
			versions = append(versions, v.Name)
		}
	}
	return versions
}
