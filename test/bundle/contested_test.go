package bundle

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/deploy"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/installer"
)

// A field that another client has set since is not overwritten, in an object that was adopted as little as in one that
// the installation created, unless the object is adopted (again). What the installation created stays its own.
func TestFieldsTakenBackAreAdoptedAgain(t *testing.T) {
	e := newEnv(t)
	c, err := installer.New(cluster.Config())
	must(t, err)
	o := bundle.Options{Namespace: "contested"}
	e.foreign(t, "apiVersion: v1\nkind: Namespace\nmetadata: {name: contested}\n")
	adopted := e.foreign(t, text(priority, "contested-adopted", "platform"))
	b := written(t, "contested", "contested.v1", text(priority, "contested-adopted", "bundle"), text(priority, "contested-own", "bundle"))
	must(t, applyAll(t, c, b, o))
	own := &unstructured.Unstructured{}
	must(t, yaml.Unmarshal([]byte(text(priority, "contested-own", "")), own))
	objects := []*unstructured.Unstructured{adopted, own}

	for _, object := range objects {
		again := &unstructured.Unstructured{}
		must(t, yaml.Unmarshal([]byte(text(priority, object.GetName(), "taken back")), again))
		resource, err := e.resource(again)
		must(t, err)
		_, err = resource.Apply(t.Context(), again.GetName(), again, metav1.ApplyOptions{FieldManager: "helm", Force: true})
		must(t, err)
	}
	p, err := c.Plan(t.Context(), prepared(t, c, b, o))
	must(t, err)
	must(t, p.Err())
	foreign := deploy.Unadopted(p.Steps(), nil)
	if len(foreign) != len(objects) {
		t.Fatalf("asked about %d objects, want %d", len(foreign), len(objects))
	}
	for _, s := range foreign {
		if says := s.Describe(); !strings.Contains(says, "description") || !strings.Contains(says, "helm") || !strings.Contains(says, "has changed since this installation wrote it") {
			t.Errorf("asked %q", says)
		}
	}
	if _, err := c.Install(t.Context(), p); !saysAll(err, "contested-adopted", "helm") {
		t.Errorf("without a word it says %v", err)
	}
	for _, object := range objects {
		if description := e.now(t, object).Object["description"]; description != "taken back" {
			t.Errorf("%s is %v", object.GetName(), description)
		}
	}

	must(t, applyAll(t, c, b, o)) // adopts all
	for _, object := range objects {
		if description := e.now(t, object).Object["description"]; description != "bundle" {
			t.Errorf("%s is %v after it was adopted again", object.GetName(), description)
		}
	}
	i := prepared(t, c, b, o)
	removal, err := c.Removal(t.Context(), i, false)
	must(t, err)
	_, err = c.Uninstall(t.Context(), i, removal)
	must(t, err)
	if !e.isThere(t, adopted) || e.isThere(t, own) {
		t.Errorf("removed: %s, and messages %q", p.Namespace(), removal.Messages)
	}
}
