package convert

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/groupkind"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
)

// namespaces are those of the operator.
type namespaces struct {
	homes sets.Set[string] // of the Deployments
}

// own reports whether a namespace is the operator's.
func (n namespaces) own(namespace string) bool {
	return namespace == "" || len(n.homes) == 0 || n.homes.Has(namespace)
}

// home returns the operator's namespace; empty if the manifests have none, or several.
func (n namespaces) home() string {
	if len(n.homes) != 1 {
		return ""
	}
	return n.homes.UnsortedList()[0]
}

// same reports whether two namespaces of the input are one in a cluster. An empty one is the namespace that kubectl
// chooses: it can be each of the operator's.
func (n namespaces) same(a, b string) bool {
	return a == b || (a == "" || b == "") && n.own(a) && n.own(b)
}

// inNamespace returns the objects that a reference with a namespace can mean, of those with the right kind and name.
func inNamespace[T any](n namespaces, all []T, namespace string, of func(T) string) []T {
	if exact := lists.Filter(all, func(o T) bool { return of(o) == namespace }); len(exact) > 0 {
		return exact
	}
	return lists.Filter(all, func(o T) bool { return n.same(of(o), namespace) })
}

// secrets are the namespaces of Secrets, by their name.
type secrets map[string]sets.Set[string]

func (s secrets) add(namespace, name string) {
	if s[name] == nil {
		s[name] = sets.New[string]()
	}
	s[name].Insert(namespace)
}

// has reports whether one of the Secrets is the one that an object of a namespace names.
func (s secrets) has(n namespaces, namespace, name string) bool {
	for of := range s[name] {
		if n.same(of, namespace) {
			return true
		}
	}
	return false
}

// ambiguous reports a reference to one of several objects.
func (c *converter) ambiguous(o *bundle.Object, path, effect string, found []*bundle.Object) {
	titles := strings.Join(lists.Map(found, title), ", ")
	c.report(Error, o, path, fmt.Sprintf("the reference has no namespace of these objects, and can mean each of them (%s): %s", titles, effect),
		"write the namespace of each object, as helm template and kustomize build do with a namespace; or convert the objects of one namespace")
}

// checkDeployments reports Deployments of several namespaces: a bundle has one.
func (c *converter) checkDeployments() {
	named := map[string]*deployment{}
	var first *deployment
	for _, d := range c.deployments {
		namespace := d.object.GetNamespace()
		if first == nil && namespace != "" {
			first = d
		}
		if first != nil && namespace != "" && namespace != first.object.GetNamespace() {
			c.report(Warning, d.object, "metadata.namespace", fmt.Sprintf("the Deployment is in namespace %s, and other Deployments are in %s: a bundle has one namespace for all", namespace, first.object.GetNamespace()),
				"check that the Deployments work in one namespace, or create a bundle for each")
		}
		if other := named[d.typed.Name]; other != nil {
			c.report(Error, d.object, "metadata.name", fmt.Sprintf("the bundle has two Deployments %s, because it has one namespace, and the manager installs neither: the other one is %s", d.typed.Name, title(other.object)),
				"rename one in its sources, and convert again; or create a bundle for each namespace")
		} else {
			named[d.typed.Name] = d
		}
	}
}

// checkKept reports a second object of one kind and name: an installation refuses both.
func (c *converter) checkKept(source *bundle.Object, kept *unstructured.Unstructured) {
	key := groupkind.Of(kept).String() + " " + kept.GetName()
	if other := c.kept[key]; other != nil {
		c.report(Error, source, "metadata.name", fmt.Sprintf("the bundle has two objects of this kind and name, because it has one namespace, and bundle install refuses it: the other one is %s", title(other)),
			"remove the object that the operator does not need in its own namespace; otherwise rename one in its sources; and convert again")
	} else {
		c.kept[key] = source
	}
}
