package installtest

import (
	"cmp"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// OwnerOf returns an owner reference to an object of a kind, or of a kind of another group: Kind.group.
func OwnerOf(kind, name string) metav1.OwnerReference {
	versions := map[string]string{
		"ClusterServiceVersion": "operators.coreos.com/v1alpha1", "CustomResourceDefinition": "apiextensions.k8s.io/v1",
	}
	kind, group, _ := strings.Cut(kind, ".")
	version := cmp.Or(versions[kind], "v1")
	if group != "" {
		version = group + "/v1"
	}
	return metav1.OwnerReference{APIVersion: version, Kind: kind, Name: name, UID: types.UID("uid-of-" + name)}
}
