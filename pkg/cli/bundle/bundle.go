// Package bundle reads registry+v1 operator bundles from folders and images, and renders their
// manifests. pkg/cli/bundle/lint validates them.
package bundle

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operator-framework/api/pkg/encoding"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/groupkind"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
)

// Bundle is the content of a registry+v1 bundle.
type Bundle struct {
	// Source is the folder, or the image with its digest.
	Source      string
	Annotations map[string]string
	// AnnotationsObject is metadata/annotations.yaml; nil if it is missing or cannot be read.
	AnnotationsObject *Object
	// CSV is the ClusterServiceVersion; nil if it is missing or cannot be decoded.
	CSV *operatorsv1alpha1.ClusterServiceVersion
	// CSVObject is the ClusterServiceVersion as it is written. It is set also if it cannot be decoded.
	CSVObject *Object
	// Objects includes the ClusterServiceVersion, and is sorted by file.
	Objects  []*Object
	Problems []Problem
	Size     int64
	files    map[string][]byte
}

// Err returns the problems that prevent the installation; nil if there are none.
func (b *Bundle) Err() error {
	fatal := lists.Filter(b.Problems, func(p Problem) bool { return p.Kind.Fatal() })
	return errors.Join(lists.Map(fatal, func(p Problem) error { return fmt.Errorf("%s: %s", b.Source, p) })...)
}

func (b *Bundle) has(kind Kind, file string) bool {
	return slices.ContainsFunc(b.Problems, func(p Problem) bool { return p.Kind == kind && p.File == file })
}

// Package returns the name of the package.
func (b *Bundle) Package() string { return b.Annotations[packageAnnotation] }

// RecordedPackage returns the name of the package as Subscriptions and records have it: the name of the
// ClusterServiceVersion for a bundle without a package.
func (b *Bundle) RecordedPackage() string { return cmp.Or(b.Package(), b.CSV.Name) }

// DefaultChannel returns the default channel; empty if the bundle has none.
func (b *Bundle) DefaultChannel() string { return b.Annotations[defaultChannelAnnotation] }

// Channels returns the channels that the bundle is published in.
func (b *Bundle) Channels() []string {
	var channels []string
	for channel := range strings.SplitSeq(b.Annotations[channelsAnnotation], ",") {
		if channel = strings.TrimSpace(channel); channel != "" {
			channels = append(channels, channel)
		}
	}
	return channels
}

// Supports reports whether the operator supports an install mode.
func (b *Bundle) Supports(mode operatorsv1alpha1.InstallModeType) bool {
	return slices.ContainsFunc(b.CSV.Spec.InstallModes, func(m operatorsv1alpha1.InstallMode) bool { return m.Type == mode && m.Supported })
}

// CRDs returns the CustomResourceDefinitions that can be decoded.
func (b *Bundle) CRDs() (crds []*apiextensionsv1.CustomResourceDefinition) {
	for _, crd := range Each[*apiextensionsv1.CustomResourceDefinition](b) {
		crds = append(crds, crd)
	}
	return crds
}

// Kinds returns the distinct kinds of the objects.
func (b *Bundle) Kinds() []schema.GroupKind {
	return lists.Distinct(lists.Map(b.Objects, func(o *Object) schema.GroupKind { return groupkind.Of(o) }))
}

// Find returns the object of a kind and name, or nil.
func (b *Bundle) Find(kind schema.GroupKind, name string) *Object {
	return lists.First(b.Objects, func(o *Object) bool { return groupkind.Is(o, kind) && o.GetName() == name })
}

// CompressedSize returns the size of all files as OLM stores them: compressed, in base64.
func (b *Bundle) CompressedSize() (size int64) {
	for _, text := range b.files {
		stored, _ := encoding.GzipBase64Encode(text) // it writes to memory
		size += int64(len(stored))
	}
	return size
}

// Each yields the objects of a Go type, in the order of files.
func Each[T any](b *Bundle) iter.Seq2[*Object, T] {
	return func(yield func(*Object, T) bool) {
		for _, o := range b.Objects {
			if t, ok := o.Typed.(T); ok && !yield(o, t) {
				return
			}
		}
	}
}

// Object is an object of a bundle and its position.
type Object struct {
	// Unstructured is the object as it is written, without unknown fields: they are reported as Problems.
	*unstructured.Unstructured
	// Typed is nil for kinds of other APIs than Kubernetes and OLM, and for objects that cannot be decoded.
	Typed any
	// File is the path in the bundle, with slashes.
	File      string
	text      []byte
	firstLine int
	positions positions
}

// Size returns the size of the text.
func (o *Object) Size() int { return len(o.text) }
