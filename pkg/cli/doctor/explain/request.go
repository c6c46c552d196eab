package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
)

// Request is a request to the API server, after authentication and authorization.
type Request struct {
	// Operation is Create, Update or Delete.
	Operation admissionregistrationv1.OperationType
	// Object is the object of the request, and Old the stored one. A deletion has no Object, a creation no Old.
	Object, Old *unstructured.Unstructured
	Resource    Resource
	User        User
}

// User is who sends a request.
type User struct {
	Name   string   `json:"name"`
	Groups []string `json:"groups"`
	UID    string   `json:"uid,omitempty"`
	// Extra is what the authenticator adds, such as the pod of a service account.
	Extra map[string][]string `json:"extra,omitempty"`
	// Complete reports that UID and Extra are known, also if they are empty.
	Complete bool `json:"-"`
}

// open returns the fields of the user that are not known.
func (u User) open() []openField {
	if u.Complete {
		return nil
	}
	return []openField{optional("request.userInfo.uid"), optional("request.userInfo.extra")}
}

// Impersonated returns a user with the groups that the API server adds to those of kubectl --as. UID and Extra of the user
// with this name are not known.
func Impersonated(name string, groups []string) User {
	u := User{Name: name, Groups: slices.Clone(groups)}
	if parts := strings.Split(name, ":"); len(groups) == 0 && len(parts) == 4 && strings.HasPrefix(name, "system:serviceaccount:") {
		u.Groups = []string{"system:serviceaccounts", "system:serviceaccounts:" + parts[2]}
	}
	all := user.AllAuthenticated
	if name == user.Anonymous {
		all = user.AllUnauthenticated
	}
	if !slices.Contains(u.Groups, user.AllAuthenticated) && !slices.Contains(u.Groups, user.AllUnauthenticated) {
		u.Groups = append(u.Groups, all)
	}
	return u
}

func (r Request) subject() *unstructured.Unstructured { return cmp.Or(r.Object, r.Old) }

// namespace is that of a Namespace, too.
func (r Request) namespace() string {
	switch {
	case r.Resource.Group == "" && r.Resource.Resource == "namespaces":
		return r.subject().GetName()
	case r.Resource.Namespaced:
		return r.subject().GetNamespace()
	default:
		return ""
	}
}

func (r Request) validate() error {
	lacks := func(object string) error {
		return fmt.Errorf("operation %s needs %s", r.Operation, object)
	}
	switch {
	case r.Operation == admissionregistrationv1.Create && r.Object == nil:
		return lacks("the object that is created")
	case r.Operation == admissionregistrationv1.Update && (r.Object == nil || r.Old == nil):
		return lacks("the object and the stored object")
	case r.Operation == admissionregistrationv1.Delete && r.Old == nil:
		return lacks("the stored object")
	case !slices.Contains([]admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update, admissionregistrationv1.Delete}, r.Operation):
		return fmt.Errorf("operation %q: use CREATE, UPDATE or DELETE", r.Operation)
	default:
		return nil
	}
}

// attributes are the request as the plugins of the API server receive it.
func (r Request) attributes(s Snapshot) (admission.Attributes, error) {
	var objects [2]runtime.Object
	for i, o := range []*unstructured.Unstructured{r.Object, r.Old} {
		if o == nil {
			continue
		}
		var err error
		if objects[i], err = s.received(o, r.namespace(), r.Operation == admissionregistrationv1.Create); err != nil {
			return nil, err
		}
	}
	if r.Operation == admissionregistrationv1.Delete {
		objects[0] = nil
	}
	if r.Operation == admissionregistrationv1.Create {
		objects[1] = nil
	}
	return admission.NewAttributesRecord(objects[0], objects[1], r.Resource.Kind, r.namespace(), r.subject().GetName(), r.Resource.GroupVersionResource,
		r.Resource.Subresource, admission.Operation(r.Operation), r.options(), false, &user.DefaultInfo{
			Name: r.User.Name, UID: r.User.UID, Groups: r.User.Groups, Extra: r.User.Extra,
		}), nil
}

func (r Request) options() runtime.Object {
	kind := func(name string) metav1.TypeMeta {
		return metav1.TypeMeta{APIVersion: metav1.SchemeGroupVersion.String(), Kind: name}
	}
	switch r.Operation {
	case admissionregistrationv1.Create:
		return &metav1.CreateOptions{TypeMeta: kind("CreateOptions")}
	case admissionregistrationv1.Update:
		return &metav1.UpdateOptions{TypeMeta: kind("UpdateOptions")}
	default:
		return &metav1.DeleteOptions{TypeMeta: kind("DeleteOptions")}
	}
}
