package lint

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/operator-framework/api/pkg/validation/errors"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/groupkind"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
)

// place is a field of an object.
type place struct {
	object *bundle.Object
	path   string
}

// locate finds what the library speaks of, when it looks at an object. What it finds nowhere
// is said of the object as a whole.
type locate func(*subject, *bundle.Object, errors.Error) []place

// at is a field of the object that the library looks at.
func at(path string) locate {
	return func(_ *subject, o *bundle.Object, _ errors.Error) []place { return []place{{o, path}} }
}

// givenPath is for the rare error whose value is the path.
func givenPath(_ *subject, o *bundle.Object, e errors.Error) []place {
	return []place{{o, fmt.Sprint(e.BadValue)}}
}

// missingField is for errors that name a field as Go does.
func missingField(_ *subject, o *bundle.Object, e errors.Error) []place {
	in := reflect.TypeFor[operatorsv1alpha1.ClusterServiceVersion]()
	var path []string
	for name := range strings.SplitSeq(e.Field, ".") {
		field, known := in.FieldByName(name)
		if !known {
			break
		}
		if tag, _, _ := strings.Cut(field.Tag.Get("json"), ","); tag != "" {
			path = append(path, tag)
		}
		if in = field.Type; in.Kind() != reflect.Struct {
			break
		}
	}
	return []place{{o, strings.Join(path, ".")}}
}

// wrongCase is the annotation that an error names.
func wrongCase(_ *subject, o *bundle.Object, e errors.Error) []place {
	words := strings.Fields(strings.TrimPrefix(e.Detail, "provided annotation "))
	return []place{{o, annotation(words[0])}}
}

// ownedAPI is where the ClusterServiceVersion owns the kind that an error is about.
func ownedAPI(s *subject, o *bundle.Object, e errors.Error) []place {
	var all []place
	for i, d := range s.CSV.Spec.CustomResourceDefinitions.Owned {
		_, group, _ := strings.Cut(d.Name, ".")
		if e.BadValue == (schema.GroupVersionKind{Group: group, Version: d.Version, Kind: d.Kind}) {
			all = append(all, place{o, fmt.Sprintf("spec.customresourcedefinitions.owned[%d]", i)})
		}
	}
	for i, d := range s.CSV.Spec.APIServiceDefinitions.Owned {
		if e.BadValue == (schema.GroupVersionKind{Group: d.Group, Version: d.Version, Kind: d.Kind}) {
			all = append(all, place{o, fmt.Sprintf("spec.apiservicedefinitions.owned[%d]", i)})
		}
	}
	return all
}

// ownedByName is the owned definition whose name an error ends in.
func ownedByName(s *subject, o *bundle.Object, e errors.Error) []place {
	var all []place
	for i, d := range s.CSV.Spec.CustomResourceDefinitions.Owned {
		if strings.HasSuffix(e.Detail, ": "+d.Name) {
			all = append(all, place{o, fmt.Sprintf("spec.customresourcedefinitions.owned[%d].name", i)})
		}
	}
	return all
}

// describedAPI is the owned or required definition that an error quotes.
func describedAPI(s *subject, o *bundle.Object, e errors.Error) []place {
	relation, _, _ := strings.Cut(e.Detail, " ")
	descriptions := s.CSV.Spec.CustomResourceDefinitions.Owned
	if relation == "required" {
		descriptions = s.CSV.Spec.CustomResourceDefinitions.Required
	}
	var all []place
	for i, d := range descriptions {
		if d.Description == "" && strings.Contains(e.Detail, fmt.Sprintf("%q", d.Name)) {
			all = append(all, place{o, fmt.Sprintf("spec.customresourcedefinitions.%s[%d]", relation, i)})
		}
	}
	return all
}

// definitionOf are the definitions of the kind that an error is about.
func definitionOf(s *subject, _ *bundle.Object, e errors.Error) []place {
	kind, _ := e.BadValue.(schema.GroupVersionKind)
	var all []place
	for _, o := range s.Objects {
		crd, ok := o.Typed.(*apiextensionsv1.CustomResourceDefinition)
		if ok && crd.Spec.Group == kind.Group && crd.Spec.Names.Kind == kind.Kind {
			all = append(all, place{o, "spec.names.kind"})
		}
	}
	return all
}

// serviceAccount is the object of the name that an error is about.
func serviceAccount(s *subject, _ *bundle.Object, e errors.Error) []place {
	if o := s.Find(groupkind.ServiceAccount, fmt.Sprint(e.BadValue)); o != nil {
		return []place{{o, "metadata.name"}}
	}
	return nil
}

// largest is the object that takes most of the bundle.
func largest(s *subject, _ *bundle.Object, _ errors.Error) []place {
	size := func(a, b *bundle.Object) int { return a.Size() - b.Size() }
	return []place{{slices.MaxFunc(s.Objects, size), ""}}
}

// ruleOf is the rule of a role that an error is about.
func ruleOf(_ *subject, o *bundle.Object, e errors.Error) []place {
	var role rbacv1.ClusterRole
	if runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &role) != nil {
		return nil
	}
	var all []place
	for i, rule := range role.Rules {
		if reflect.DeepEqual(e.BadValue, rule) {
			all = append(all, place{o, fmt.Sprintf("rules[%d]", i)})
		}
	}
	return all
}

var inGoWords = regexp.MustCompile(`ClusterServiceVersion\.(Spec\.[\w.]+)\.(\w+)\[(\d+)\]\.(\w+)\[(\d+)\]`)

// removedAPI is the object itself, or what an error about the ClusterServiceVersion names in
// words of Go.
func removedAPI(_ *subject, o *bundle.Object, e errors.Error) []place {
	fields := strings.NewReplacer(
		"Spec.InstallStrategy.StrategySpec.ClusterPermissions", "spec.install.spec.clusterPermissions",
		"Spec.InstallStrategy.StrategySpec.Permissions", "spec.install.spec.permissions",
		"Spec.CustomResourceDefinitions.Owned", "spec.customresourcedefinitions.owned",
		"Spec.CustomResourceDefinitions.Required", "spec.customresourcedefinitions.required",
		".Rules[", ".rules[", ".Resource[", ".resources[",
	)
	var all []place
	for _, name := range inGoWords.FindAllString(e.Detail, -1) {
		all = append(all, place{o, fields.Replace(strings.TrimPrefix(name, "ClusterServiceVersion."))})
	}
	if all == nil {
		return []place{{o, "apiVersion"}}
	}
	return all
}

// withoutRequests are the containers of the name that an error is about.
func withoutRequests(s *subject, o *bundle.Object, e errors.Error) []place {
	var all []place
	for _, d := range s.deployments() {
		for i, c := range d.Spec.Template.Spec.Containers {
			if c.Resources.Requests == nil && c.Resources.Limits == nil && strings.Contains(e.Detail, ": ("+c.Name+")") {
				all = append(all, place{o, fmt.Sprintf("%s.spec.template.spec.containers[%d].resources", d.path, i)})
			}
		}
	}
	return all
}

// channels are where the bundle is published.
func channels(s *subject, _ *bundle.Object, _ errors.Error) []place {
	if s.AnnotationsObject == nil {
		return nil
	}
	return []place{{s.AnnotationsObject, "annotations[operators.operatorframework.io.bundle.channels.v1]"}}
}

// createsDefinitions are the permissions to create CustomResourceDefinitions.
func createsDefinitions(s *subject, o *bundle.Object, _ errors.Error) []place {
	has := func(list []string, either ...string) bool {
		return slices.ContainsFunc(list, func(item string) bool { return slices.Contains(either, item) })
	}
	var all []place
	look := func(field string, permissions []operatorsv1alpha1.StrategyDeploymentPermissions) {
		for i, p := range permissions {
			for j, rule := range p.Rules {
				if has(rule.APIGroups, "apiextensions.k8s.io") && has(rule.Resources, "customresourcedefinitions", "*") && has(rule.Verbs, "create", "patch", "*") {
					all = append(all, place{o, fmt.Sprintf("spec.install.spec.%s[%d].rules[%d]", field, i, j)})
				}
			}
		}
	}
	look("permissions", s.CSV.Spec.InstallStrategy.StrategySpec.Permissions)
	look("clusterPermissions", s.CSV.Spec.InstallStrategy.StrategySpec.ClusterPermissions)
	return all
}
