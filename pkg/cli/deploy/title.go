package deploy

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/groupkind"
)

// Title names an object in messages, with the group of other kinds than those of Kubernetes and OLM.
func Title(o *unstructured.Unstructured) string {
	kind := groupkind.Of(o)
	if slices.Contains(withoutGroup, kind) || len(scheme.Scheme.VersionsForGroupKind(kind)) > 0 {
		kind.Group = ""
	}
	return kind.String() + " " + nameOf(*o)
}

// withoutGroup are the kinds of Kubernetes and OLM that the client library does not know.
var withoutGroup = []schema.GroupKind{
	groupkind.CustomResourceDefinition, groupkind.ClusterServiceVersion, groupkind.OperatorGroup, groupkind.Subscription,
	{Group: "apiregistration.k8s.io", Kind: "APIService"},
}

// Reference returns the value of --adopt for an object: its kind with its group, its namespace and its name.
func Reference(o *unstructured.Unstructured) string {
	return fmt.Sprintf("%s/%s", groupkind.Of(o), nameOf(*o))
}

func nameOf(o unstructured.Unstructured) string {
	return strings.TrimPrefix(o.GetNamespace()+"/"+o.GetName(), "/")
}
