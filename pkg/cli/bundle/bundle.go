// Package bundle reads registry+v1 operator bundles, from folders and from images, and
// turns them into plain manifests. What is wrong with a bundle says pkg/cli/bundle/lint.
package bundle

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operator-framework/api/pkg/encoding"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/groupkind"
)

// Bundle is what a registry+v1 bundle holds.
type Bundle struct {
	// Source says where it was read from: a folder, or an image with its digest.
	Source string
	// Annotations are those of metadata/annotations.yaml.
	Annotations map[string]string
	// AnnotationsObject is that file as it is written; nil when there is none that can be read.
	AnnotationsObject *Object
	// CSV is the ClusterServiceVersion; nil when there is none that can be understood.
	CSV *operatorsv1alpha1.ClusterServiceVersion
	// CSVObject is the same as it is written, also when CSV is nil for its mistakes.
	CSVObject *Object
	// Objects are all objects of the manifests folder, the ClusterServiceVersion among
	// them, sorted by file.
	Objects []*Object
	// Problems are what kept files or fields from being read.
	Problems []Problem
	// Size is that of all files together.
	Size int64

	files map[string][]byte
}

// Err is nil when the bundle can be installed, and else says all that is in the way.
func (b *Bundle) Err() error {
	var all []error
	for _, p := range b.Problems {
		if p.Kind.Fatal() {
			all = append(all, fmt.Errorf("%s: %s", b.Source, p))
		}
	}
	return errors.Join(all...)
}

func (b *Bundle) has(kind Kind, file string) bool {
	return slices.ContainsFunc(b.Problems, func(p Problem) bool { return p.Kind == kind && p.File == file })
}

// Package is the name of the package that the bundle is a version of.
func (b *Bundle) Package() string { return b.Annotations[packageAnnotation] }

// DefaultChannel is empty when the bundle names none.
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

// CRDs are the CustomResourceDefinitions that can be understood.
func (b *Bundle) CRDs() []*apiextensionsv1.CustomResourceDefinition {
	return OfType[*apiextensionsv1.CustomResourceDefinition](b)
}

// Kinds are those of the bundle's objects, each once.
func (b *Bundle) Kinds() []schema.GroupKind {
	var kinds []schema.GroupKind
	for _, o := range b.Objects {
		if kind := groupkind.Of(o); !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// Find is the object of a kind and name, or nil.
func (b *Bundle) Find(kind schema.GroupKind, name string) *Object {
	for _, o := range b.Objects {
		if groupkind.Is(o, kind) && o.GetName() == name {
			return o
		}
	}
	return nil
}

// File is the text of a file of the bundle, of those in the metadata folder as well.
func (b *Bundle) File(name string) ([]byte, bool) {
	text, ok := b.files[name]
	return text, ok
}

// CompressedSize is that of all files as OLM stores them in the cluster: compressed, in base64.
func (b *Bundle) CompressedSize() (int64, error) {
	var size int64
	for _, text := range b.files {
		stored, err := encoding.GzipBase64Encode(text)
		if err != nil {
			return 0, err
		}
		size += int64(len(stored))
	}
	return size, nil
}

// OfType are the objects of a bundle that are of a Go type, in the order of files.
func OfType[T any](b *Bundle) []T {
	var all []T
	for _, o := range b.Objects {
		if t, ok := o.Typed.(T); ok {
			all = append(all, t)
		}
	}
	return all
}

// Object is one object of a bundle and where it stands.
type Object struct {
	// Unstructured is the object as it is written, without the fields that its type does not
	// have: those are among the Problems.
	*unstructured.Unstructured
	// Typed is the same object in its Go type: nil for kinds that are not Kubernetes' or
	// OLM's own, and for objects that do not fit their type.
	Typed any
	// File is relative to the bundle, with slashes.
	File string

	text      []byte
	firstLine int
	positions positions
}

// Size is that of the text of an object.
func (o *Object) Size() int { return len(o.text) }
