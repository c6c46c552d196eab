package forms

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestTable(t *testing.T) {
	object := func(kind, name string, fields map[string]any) unstructured.Unstructured {
		return unstructured.Unstructured{Object: map[string]any{"kind": kind, "metadata": map[string]any{"name": name, "resourceVersion": fields["count"]}, "spec": fields["spec"]}}
	}
	spec := func(count string, volumes ...any) map[string]any {
		return map[string]any{"count": count, "spec": map[string]any{"volumes": volumes, "same": true}}
	}
	volume := func(name, secret string) any { return map[string]any{"name": name, "secret": secret} }
	before := Stage{"OLM's", []unstructured.Unstructured{
		object("Service", "shop-s", spec("1")), object("Deployment", "d", spec("1", volume("a", "x"))), object("Role", "r", spec("1")),
	}}
	after := Stage{"converged", []unstructured.Unstructured{
		object("Service", "shop-s", spec("2")), object("Deployment", "d", spec("2", volume("a", "y"), volume("b", "z"))),
	}}
	back := Stage{"given back", before.Objects}
	installtest.Same(t, "the table", "| object | field | OLM's | converged | given back |\n|---|---|---|---|---|\n"+
		"| Deployment d | `spec.volumes[a].secret` | 1 | 2 | 1 |\n"+
		"| Deployment d | `spec.volumes[b].name` | – | 1 | – |\n"+
		"| Deployment d | `spec.volumes[b].secret` | – | 1 | – |\n"+
		"| Role r | the object | 1 | – | 1 |\n"+
		"| Service NAMESPACE-s | all fields | 1 | 1 | 1 |\n", Table("shop", before, after, back))
}
