package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

const v2Folder = "../../../examples/crdconversion/bundle-v2"

type document struct {
	Schema, Package, Name, DefaultChannel string
	Entries                               []Entry
	Properties                            []struct {
		Type  string
		Value json.RawMessage
	}
}

// A catalog has the package, its channels and its bundles with all their objects.
func TestText(t *testing.T) {
	v2 := read(t, v2Folder)
	next := v2.Release("2.1.0")
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
	}, properties)
	installtest.Same(t, "objects", []string{"ClusterServiceVersion", "PodDisruptionBudget", "CustomResourceDefinition"}, kinds)
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
