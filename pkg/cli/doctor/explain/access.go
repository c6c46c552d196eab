package explain

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// Access is a question that an expression asks the API server's authorizer.
type Access struct {
	User string
	// Groups are separated by commas.
	Groups                                                         string
	Verb, Group, Version, Resource, Subresource, Namespace, Object string
	// Path is that of a request for no resource.
	Path string
	// Selective reports whether the question has a selector, which Access does not hold.
	Selective bool
}

// String names the question for people.
func (a Access) String() string {
	of := cmp.Or(a.Path, strings.TrimSuffix(a.Resource+"."+a.Group, "."))
	if a.Subresource != "" {
		of += "/" + a.Subresource
	}
	text := "may " + a.User + " " + a.Verb + " " + of
	if a.Object != "" {
		text += " " + a.Object
	}
	if a.Namespace != "" {
		text += " in " + a.Namespace
	}
	return text + "?"
}

func question(a authorizer.Attributes) Access {
	asked := Access{
		Verb: a.GetVerb(), Group: a.GetAPIGroup(), Version: a.GetAPIVersion(), Resource: a.GetResource(), Subresource: a.GetSubresource(),
		Namespace: a.GetNamespace(), Object: a.GetName(),
	}
	if !a.IsResourceRequest() {
		asked.Path = a.GetPath()
	}
	if who := a.GetUser(); who != nil {
		asked.User, asked.Groups = who.GetName(), strings.Join(groups(who), ",")
	}
	fields, fieldsErr := a.GetFieldSelector()
	labels, labelsErr := a.GetLabelSelector()
	asked.Selective = len(fields)+len(labels) > 0 || fieldsErr != nil || labelsErr != nil
	return asked
}

func groups(of user.Info) []string { return slices.Clone(of.GetGroups()) }
