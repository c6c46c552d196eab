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

// End is the result of EndAll.
type End struct {
	// CRDs are the definitions that need no conversion.
	CRDs []*apiextensionsv1.CustomResourceDefinition
	// Count are the definitions whose objects must be counted first.
	Count []string
	// InUse is a message about the conversions that cannot end yet.
	InUse string
}

// EndAll decides which definitions may lose their conversion by certain Services of a namespace. Without a
// conversion, the API server only relabels objects, and the next write drops the fields that the
// other version lacks. So a definition must have no objects, or only one version that is served and
// stored. force ends all of them.
func EndAll(namespace string, converts func(service string) bool, crds []*apiextensionsv1.CustomResourceDefinition, objects map[string]int, force bool) End {
	var end End
	var needed []string
	for _, crd := range crds {
		by, service := owners.ConvertedBy(crd)
		if by != namespace || !converts(service) {
			continue
		}
		switch EndingOf(crd, objects, force) {
		case Ends:
			end.CRDs = append(end.CRDs, crd)
		case EndUnknown:
			end.Count = append(end.Count, crd.Name)
		default:
			needed = append(needed, inUse(crd, objects[crd.Name]))
		}
	}
	end.InUse = lostFieldsMessage(needed)
	return end
}

// A condition shows only the beginning, so the number and the remedies come first.
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

// Ending is whether a definition may lose its conversion.
type Ending int

// The values of Ending.
const (
	EndUnknown Ending = iota // the objects are not counted
	Ends
	needed
)

// EndingOf decides by the number of objects whether a definition may lose its conversion.
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

// SomeObjects is the number of objects if it cannot be counted.
const SomeObjects = -1

// The API server does not report how many objects are stored in which version.
func inUse(crd *apiextensionsv1.CustomResourceDefinition, objects int) string {
	version := storedversions.Readable(crd)
	others := slices.DeleteFunc(storedversions.Served(crd), func(v string) bool { return v == version })
	why := fmt.Sprintf("%s has %s, %s, and serves %s", crd.Name, counted(objects), storedversions.Describe(crd), strings.Join(storedversions.Served(crd), ", "))
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

// oneVersion reports whether all objects have the only served version.
func oneVersion(crd *apiextensionsv1.CustomResourceDefinition) bool {
	serves := storedversions.Served(crd)
	return len(serves) == 1 && storedversions.Only(crd, serves[0])
}
