package lint

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/operator-framework/api/pkg/validation/errors"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/groupkind"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
)

type libraryField struct {
	object *bundle.Object
	path   string
}

// locator finds the fields that an error is about. If there are none, it is about the whole object.
type locator func(*subject, *bundle.Object, errors.Error) []libraryField

func fieldAt(path string) locator {
	return func(_ *subject, o *bundle.Object, _ errors.Error) []libraryField { return []libraryField{{o, path}} }
}

// items finds items of a list. The path has the verb %d for the index.
func items[T any](o *bundle.Object, path string, all []T, matches func(T) bool) []libraryField {
	var found []libraryField
	for i, item := range all {
		if matches(item) {
			found = append(found, libraryField{o, fmt.Sprintf(path, i)})
		}
	}
	return found
}

func valueAsPath(_ *subject, o *bundle.Object, e errors.Error) []libraryField {
	return []libraryField{{o, fmt.Sprint(e.BadValue)}}
}

// missingField is for errors that name a field as Go does.
func missingField(_ *subject, o *bundle.Object, e errors.Error) []libraryField {
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
	return []libraryField{{o, strings.Join(path, ".")}}
}

func wrongCase(_ *subject, o *bundle.Object, e errors.Error) []libraryField {
	words := strings.Fields(strings.TrimPrefix(e.Detail, "provided annotation "))
	return []libraryField{{o, annotation(words[0])}}
}

func ownedAPI(s *subject, o *bundle.Object, e errors.Error) []libraryField {
	crds := items(o, "spec.customresourcedefinitions.owned[%d]", s.CSV.Spec.CustomResourceDefinitions.Owned, func(d operatorsv1alpha1.CRDDescription) bool {
		_, group, _ := strings.Cut(d.Name, ".")
		return e.BadValue == schema.GroupVersionKind{Group: group, Version: d.Version, Kind: d.Kind}
	})
	apis := items(o, "spec.apiservicedefinitions.owned[%d]", s.CSV.Spec.APIServiceDefinitions.Owned, func(d operatorsv1alpha1.APIServiceDescription) bool {
		return e.BadValue == schema.GroupVersionKind{Group: d.Group, Version: d.Version, Kind: d.Kind}
	})
	return slices.Concat(crds, apis)
}

func ownedByName(s *subject, o *bundle.Object, e errors.Error) []libraryField {
	return items(o, "spec.customresourcedefinitions.owned[%d].name", s.CSV.Spec.CustomResourceDefinitions.Owned, func(d operatorsv1alpha1.CRDDescription) bool {
		return strings.HasSuffix(e.Detail, ": "+d.Name)
	})
}

func describedAPI(s *subject, o *bundle.Object, e errors.Error) []libraryField {
	relation, _, _ := strings.Cut(e.Detail, " ")
	descriptions := s.CSV.Spec.CustomResourceDefinitions.Owned
	if relation == "required" {
		descriptions = s.CSV.Spec.CustomResourceDefinitions.Required
	}
	return items(o, "spec.customresourcedefinitions."+relation+"[%d]", descriptions, func(d operatorsv1alpha1.CRDDescription) bool {
		return d.Description == "" && strings.Contains(e.Detail, fmt.Sprintf("%q", d.Name))
	})
}

func definitionOf(s *subject, _ *bundle.Object, e errors.Error) []libraryField {
	kind, _ := e.BadValue.(schema.GroupVersionKind)
	var all []libraryField
	for o, crd := range bundle.Each[*apiextensionsv1.CustomResourceDefinition](s.Bundle) {
		if crd.Spec.Group == kind.Group && crd.Spec.Names.Kind == kind.Kind {
			all = append(all, libraryField{o, "spec.names.kind"})
		}
	}
	return all
}

func serviceAccount(s *subject, _ *bundle.Object, e errors.Error) []libraryField {
	if o := s.Find(groupkind.ServiceAccount, fmt.Sprint(e.BadValue)); o != nil {
		return []libraryField{{o, "metadata.name"}}
	}
	return nil
}

func largest(s *subject, _ *bundle.Object, _ errors.Error) []libraryField {
	size := func(a, b *bundle.Object) int { return a.Size() - b.Size() }
	return []libraryField{{slices.MaxFunc(s.Objects, size), ""}}
}

func ruleOf(_ *subject, o *bundle.Object, e errors.Error) []libraryField {
	var role rbacv1.ClusterRole
	if runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &role) != nil {
		return nil
	}
	return items(o, "rules[%d]", role.Rules, func(rule rbacv1.PolicyRule) bool { return reflect.DeepEqual(e.BadValue, rule) })
}

var goFieldPath = regexp.MustCompile(`ClusterServiceVersion\.(Spec\.[\w.]+)\.(\w+)\[(\d+)\]\.(\w+)\[(\d+)\]`)

// removedAPI is the object itself, or the fields that an error names as Go does.
func removedAPI(_ *subject, o *bundle.Object, e errors.Error) []libraryField {
	fields := strings.NewReplacer(
		"Spec.InstallStrategy.StrategySpec.ClusterPermissions", "spec.install.spec.clusterPermissions",
		"Spec.InstallStrategy.StrategySpec.Permissions", "spec.install.spec.permissions",
		"Spec.CustomResourceDefinitions.Owned", "spec.customresourcedefinitions.owned",
		"Spec.CustomResourceDefinitions.Required", "spec.customresourcedefinitions.required",
		".Rules[", ".rules[", ".Resource[", ".resources[",
	)
	var all []libraryField
	for _, name := range goFieldPath.FindAllString(e.Detail, -1) {
		all = append(all, libraryField{o, fields.Replace(strings.TrimPrefix(name, "ClusterServiceVersion."))})
	}
	if all == nil {
		return []libraryField{{o, "apiVersion"}}
	}
	return all
}

func withoutRequests(s *subject, o *bundle.Object, e errors.Error) []libraryField {
	var all []libraryField
	for _, d := range s.deployments {
		all = append(all, items(o, d.path+".spec.template.spec.containers[%d].resources", d.Spec.Template.Spec.Containers, func(c corev1.Container) bool {
			return c.Resources.Requests == nil && c.Resources.Limits == nil && strings.Contains(e.Detail, ": ("+c.Name+")")
		})...)
	}
	return all
}

func channels(s *subject, _ *bundle.Object, _ errors.Error) []libraryField {
	if s.AnnotationsObject == nil {
		return nil
	}
	return []libraryField{{s.AnnotationsObject, "annotations[operators.operatorframework.io.bundle.channels.v1]"}}
}

func createsDefinitions(s *subject, o *bundle.Object, _ errors.Error) []libraryField {
	creates := func(rule rbacv1.PolicyRule) bool {
		return slices.Contains(rule.APIGroups, "apiextensions.k8s.io") &&
			sets.New(rule.Resources...).HasAny("customresourcedefinitions", "*") && sets.New(rule.Verbs...).HasAny("create", "patch", "*")
	}
	var all []libraryField
	check := func(field string, permissions []operatorsv1alpha1.StrategyDeploymentPermissions) {
		for i, p := range permissions {
			all = append(all, items(o, fmt.Sprintf("spec.install.spec.%s[%d].rules[%%d]", field, i), p.Rules, creates)...)
		}
	}
	check("permissions", s.CSV.Spec.InstallStrategy.StrategySpec.Permissions)
	check("clusterPermissions", s.CSV.Spec.InstallStrategy.StrategySpec.ClusterPermissions)
	return all
}
