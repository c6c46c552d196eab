// Package installer installs, upgrades and uninstalls bundles. The package deploy decides what is written and deleted.
package installer

import (
	"slices"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/groupkind"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cluster"
)

// Installer installs, upgrades and uninstalls bundles in one cluster.
type Installer struct {
	*cluster.Cluster

	records     recordStore
	definitions definitionStore
	operators   operatorReader
}

// New returns an Installer for the cluster of a client configuration.
func New(config *rest.Config) (*Installer, error) {
	c, err := cluster.New(config)
	if err != nil {
		return nil, err
	}
	return &Installer{Cluster: c, records: recordStore{c.Kube}, definitions: definitionStore{c.Extensions}, operators: operatorReader{c.OLM}}, nil
}

// Installation is a bundle on its way into a cluster.
type Installation struct {
	Bundle    *bundle.Bundle
	Manifests []*unstructured.Unstructured
	// Result are the manifests as they are shown (see Resulting); nil for the Manifests themselves.
	Result []*unstructured.Unstructured
	// KeptGroup is the message about an existing OperatorGroup that is not changed; empty for none.
	KeptGroup string
	// NamespaceWarning is what an administrator has to know of the namespace; empty for nothing.
	NamespaceWarning string
	Timeout          time.Duration
	// Adopted are the objects of other owners that may be overwritten and removed (see deploy.Reference).
	Adopted []string
	Print   func(format string, args ...any)
}

// Namespace is the operator's own.
func (i Installation) Namespace() string { return i.Manifests[len(i.Manifests)-1].GetNamespace() }

// Objects are the manifests that are written: all, except for a group that stays as it is.
func (i Installation) Objects() []*unstructured.Unstructured {
	return slices.DeleteFunc(slices.Clone(i.Manifests), func(o *unstructured.Unstructured) bool {
		return i.KeptGroup != "" && groupkind.Is(o, groupkind.OperatorGroup)
	})
}

// CSV is the ClusterServiceVersion as it is installed.
func (i Installation) CSV() *operatorsv1alpha1.ClusterServiceVersion {
	csv := i.Bundle.CSV.DeepCopy()
	csv.Namespace = i.Namespace()
	return csv
}

func (i Installation) definition(o *unstructured.Unstructured) *apiextensionsv1.CustomResourceDefinition {
	return lists.First(i.Bundle.CRDs(), func(crd *apiextensionsv1.CustomResourceDefinition) bool {
		return groupkind.Is(o, groupkind.CustomResourceDefinition) && o.GetName() == crd.Name
	})
}

func (i Installation) definitionOf(kind schema.GroupKind) *apiextensionsv1.CustomResourceDefinition {
	return lists.First(i.Bundle.CRDs(), func(crd *apiextensionsv1.CustomResourceDefinition) bool { return kindOf(crd) == kind })
}

func kindOf(crd *apiextensionsv1.CustomResourceDefinition) schema.GroupKind {
	return schema.GroupKind{Group: crd.Spec.Group, Kind: crd.Spec.Names.Kind}
}
