package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

const v2Folder = "../../../examples/crdconversion/bundle-v2"

type document struct {
	Schema, Package, Name, DefaultChannel, Image string
	Entries                                      []Entry
	Properties                                   []struct {
		Type  string
		Value json.RawMessage
	}
}

// A catalog has the package, its channels and its bundles with all their objects.
func TestText(t *testing.T) {
	v2 := read(t, v2Folder)
	next := v2.Release("2.1.0", func(b *Bundle) {
		b.CSV.Spec.CustomResourceDefinitions.Required = []operatorsv1alpha1.CRDDescription{{Name: "shops.example.com", Version: "v1", Kind: "Shop"}}
	})
	text, err := Text(Package{
		Name: "crdconversion", DefaultChannel: "stable", Bundles: []Bundle{v2, next},
		Channels: []Channel{Chain("stable", v2, next), {Name: "skipping", Entries: []Entry{{Name: next.Name(), Skips: []string{v2.Name()}, SkipRange: "<2.1.0"}}}},
	})
	installtest.Must(t, err)
	documents := decode(t, text)
	var summary []document
	for _, d := range documents {
		d.Properties = nil
		summary = append(summary, d)
	}
	installtest.Same(t, "documents", []document{
		{Schema: "olm.package", Name: "crdconversion", DefaultChannel: "stable"},
		{Schema: "olm.channel", Package: "crdconversion", Name: "stable", Entries: []Entry{
			{Name: "crdconversion.v2.0.0"}, {Name: "crdconversion.v2.1.0", Replaces: "crdconversion.v2.0.0"},
		}},
		{Schema: "olm.channel", Package: "crdconversion", Name: "skipping", Entries: []Entry{
			{Name: "crdconversion.v2.1.0", Skips: []string{"crdconversion.v2.0.0"}, SkipRange: "<2.1.0"},
		}},
		{Schema: "olm.bundle", Package: "crdconversion", Name: "crdconversion.v2.0.0"},
		{Schema: "olm.bundle", Package: "crdconversion", Name: "crdconversion.v2.1.0"},
	}, summary)

	var properties, kinds []string
	for _, p := range documents[4].Properties {
		if p.Type != "olm.bundle.object" {
			properties = append(properties, p.Type+" "+string(p.Value))
			continue
		}
		var object struct{ Data []byte }
		installtest.Must(t, json.Unmarshal(p.Value, &object))
		var o unstructured.Unstructured
		installtest.Must(t, json.Unmarshal(object.Data, &o))
		kinds = append(kinds, o.GetKind())
	}
	installtest.Same(t, "properties", []string{
		`olm.package {"packageName":"crdconversion","version":"2.1.0"}`,
		`olm.gvk {"group":"crdconversion.example.com","kind":"Cache","version":"v1"}`,
		`olm.gvk {"group":"crdconversion.example.com","kind":"Cache","version":"v2"}`,
		`olm.gvk.required {"group":"example.com","kind":"Shop","version":"v1"}`,
	}, properties)
	installtest.Same(t, "objects", []string{"ClusterServiceVersion", "PodDisruptionBudget", "CustomResourceDefinition"}, kinds)
}

// A bundle with an image has no objects in the catalog. The image has them.
func TestImage(t *testing.T) {
	v2 := read(t, v2Folder)
	v2.Image = "registry.example.com/bundle@sha256:0"
	text, err := Text(Package{Name: "crdconversion", Bundles: []Bundle{v2}})
	installtest.Must(t, err)
	found := decode(t, text)[1]
	var types []string
	for _, p := range found.Properties {
		types = append(types, p.Type)
	}
	installtest.Same(t, "image", v2.Image, found.Image)
	installtest.Same(t, "properties", []string{"olm.package", "olm.gvk", "olm.gvk", "olm.csv.metadata"}, types)

	files, err := v2.Files()
	installtest.Must(t, err)
	folder := t.TempDir()
	for name, content := range files {
		path := filepath.Join(folder, name)
		installtest.Must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		installtest.Must(t, os.WriteFile(path, content, 0o600))
	}
	again := read(t, folder)
	if diff := cmp.Diff(v2.CSV, again.CSV); diff != "" {
		t.Errorf("the ClusterServiceVersion of the image differs (-want +got):\n%s", diff)
	}
	installtest.Same(t, "package", "crdconversion", again.Package)
	installtest.Same(t, "other objects", len(v2.Others), len(again.Others))
}

// A release has its own name, version and pods, and the bundle that it is made of stays as it is.
func TestRelease(t *testing.T) {
	v2 := read(t, v2Folder)
	before := v2.CSV.DeepCopy()
	released := v2.Release("2.0.1").Release("2.1.0", NeverReady)
	if diff := cmp.Diff(before, v2.CSV); diff != "" {
		t.Errorf("the bundle has changed (-before +after):\n%s", diff)
	}
	installtest.Same(t, "name", "crdconversion.v2.1.0", released.Name())
	installtest.Same(t, "replaces", "", released.CSV.Spec.Replaces)
	for _, c := range containers(released.CSV) {
		installtest.Same(t, "arguments of "+c.Name, []string{"--no-such-flag"}, c.Args)
		installtest.Same(t, "variables of "+c.Name, []corev1.EnvVar{{Name: "RELEASE", Value: "2.1.0"}}, c.Env)
	}
}

func read(t *testing.T, folder string) Bundle {
	t.Helper()
	b, err := Read(folder)
	installtest.Must(t, err)
	return b
}

func decode(t *testing.T, text []byte) (documents []document) {
	t.Helper()
	for decoder := json.NewDecoder(bytes.NewReader(text)); ; {
		var d document
		err := decoder.Decode(&d)
		if errors.Is(err, io.EOF) {
			return documents
		}
		installtest.Must(t, err)
		documents = append(documents, d)
	}
}
