package bundle

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/blang/semver/v4"
	strictjson "sigs.k8s.io/json"

	"github.com/operator-framework/api/pkg/constraints"
)

type fault struct{ path, what, remedy string }

type valueCheck func(json.RawMessage) []fault

// valueChecks has the types that OLM uses to resolve dependencies. Other programs read the other properties.
var valueChecks = map[string]map[string]valueCheck{
	dependencies: {
		"olm.gvk":        decoded(gvkFaults),
		"olm.package":    decoded(dependencyFaults),
		"olm.label":      decoded(labelFaults),
		"olm.constraint": constraintValueFaults,
	},
	properties: {
		"olm.gvk":              decoded(gvkFaults),
		"olm.gvk.required":     decoded(gvkFaults),
		"olm.package":          decoded(packageFaults),
		"olm.package.required": decoded(requiredFaults),
		"olm.label":            decoded(labelFaults),
		"olm.label.required":   decoded(labelFaults),
		"olm.constraint":       constraintValueFaults,
	},
}

func faults(list string, e entry) []fault {
	check, known := valueChecks[list][e.Type]
	switch {
	case e.Type == "":
		return []fault{{"", "has no type, which defines what its value means", "write it"}}
	case len(e.Value) == 0:
		return []fault{{"", "has no value", "write it"}}
	case known:
		return check(e.Value)
	case list == dependencies:
		return []fault{{".type", fmt.Sprintf("is %q, and dependencies are %s only: OLM does not resolve it", e.Type, strings.Join(slices.Sorted(maps.Keys(valueChecks[list])), ", ")), "correct it"}}
	default:
		return nil
	}
}

func decoded[T any](in func(path string, value T) []fault) valueCheck {
	return func(value json.RawMessage) []fault {
		var v T
		var wrong []fault
		unknown, err := strictjson.UnmarshalStrict(value, &v, strictjson.DisallowUnknownFields)
		if err != nil {
			return []fault{{".value", "cannot be read: " + decodingError(err), "write what its type asks for"}}
		}
		for _, u := range unknown {
			wrong = append(wrong, fault{".value." + fieldPath(u), "is no field of such a value, and OLM ignores it", "correct or remove it"})
		}
		return append(wrong, in(".value", v)...)
	}
}

func gvkFaults(path string, gvk constraints.GVKConstraint) []fault {
	return slices.Concat(missing(path+".group", gvk.Group), missing(path+".version", gvk.Version), missing(path+".kind", gvk.Kind))
}

// versionedPackage is a package with a version, or, among dependencies, with a range of them.
type versionedPackage struct {
	PackageName string `json:"packageName"`
	Version     string `json:"version"`
}

func dependencyFaults(path string, p versionedPackage) []fault {
	return append(missing(path+".packageName", p.PackageName), rangeFaults(path+".version", p.Version)...)
}

func packageFaults(path string, p versionedPackage) []fault {
	wrong := missing(path+".packageName", p.PackageName)
	if _, err := semver.Parse(p.Version); err != nil {
		wrong = append(wrong, fault{path + ".version", fmt.Sprintf("is %q, which is no semantic version", p.Version), "write one, such as 1.0.0"})
	}
	return wrong
}

func requiredFaults(path string, p constraints.PackageConstraint) []fault {
	return append(missing(path+".packageName", p.PackageName), rangeFaults(path+".versionRange", p.VersionRange)...)
}

func labelFaults(path string, l struct {
	Label string `json:"label"`
}) []fault {
	return missing(path+".label", l.Label)
}

func missing(path, value string) []fault {
	if value != "" {
		return nil
	}
	return []fault{{path, "is missing", "write it"}}
}

func rangeFaults(path, versions string) []fault {
	if versions == "" {
		return missing(path, versions)
	}
	if _, err := semver.ParseRange(versions); err != nil {
		return []fault{{path, fmt.Sprintf("is %q, which is no range of semantic versions", versions), "write one, such as >=1.0.0 <2.0.0"}}
	}
	return nil
}

func constraintValueFaults(value json.RawMessage) []fault {
	c, err := constraints.Parse(value)
	if err != nil {
		return []fault{{".value", "is no constraint that OLM reads: " + decodingError(err), "write one of all, any, cel, gvk, not and package"}}
	}
	return constraintFaults(".value", c)
}

func constraintFaults(path string, c constraints.Constraint) []fault {
	var wrong []fault
	sorts := 0
	for _, compound := range []struct {
		sort string
		of   *constraints.CompoundConstraint
	}{{"all", c.All}, {"any", c.Any}, {"not", c.Not}} {
		if compound.of == nil {
			continue
		}
		sorts++
		for i, part := range compound.of.Constraints {
			wrong = append(wrong, constraintFaults(fmt.Sprintf("%s.%s.constraints[%d]", path, compound.sort, i), part)...)
		}
	}
	if c.Package != nil {
		sorts++
		wrong = append(wrong, requiredFaults(path+".package", *c.Package)...)
	}
	if c.GVK != nil {
		sorts++
		wrong = append(wrong, gvkFaults(path+".gvk", *c.GVK)...)
	}
	if c.Cel != nil {
		sorts++
		if len(c.Cel.Rule) > maxRule {
			wrong = append(wrong, fault{path + ".cel.rule", fmt.Sprintf("has more than %d characters, and is not read", maxRule), "shorten it"})
		} else if _, err := celEnvironment().Validate(c.Cel.Rule); err != nil {
			wrong = append(wrong, fault{path + ".cel.rule", fmt.Sprintf("is no condition that OLM can evaluate: %v", err), "correct it"})
		}
	}
	if sorts != 1 {
		wrong = append(wrong, fault{path, fmt.Sprintf("has %d of all, any, cel, gvk, not and package, and OLM evaluates one", sorts), "write one, and several below all"})
	}
	return wrong
}

const (
	// maxRule is how many bytes a rule in CEL may have. A parser needs a kilobyte for each.
	maxRule = 4 << 10
	// maxConstraints is how many bytes the constraints of a file may have together.
	maxConstraints = 256 << 10
)

var celEnvironment = sync.OnceValue(constraints.NewCelEnvironment)
