package e2e

import (
	"strings"
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/poddefaults/test/table"
)

// Every row of the table by which PodDefaults are merged, and every conflict, through an installed operator.
func TestPodDefaults(t *testing.T) {
	t.Parallel()
	const files = "examples/poddefaults"
	e := newExample(t, "poddefaults", files)
	e.kubectl("apply", "--server-side", "-k", files)
	e.succeeds("poddefaults.v0.1.0")

	// What the group selects, the manager has covered once it has observed it.
	table.NewNamespace(t, config, map[string]string{"poddefaults.example.com/enabled": "true"}).Check(t)

	e.kubectl("apply", "-f", files+"/samples/namespace.yaml")
	e.Cleanup(func() { e.kubectl("delete", "-f", files+"/samples/namespace.yaml", "--ignore-not-found") })
	e.kubectl("apply", "-f", files+"/samples/poddefault.yaml")
	e.eventually("the sample that contradicts the PodDefault is denied", func() (bool, any) {
		_, err := kubectl(e.ctx, "create", "--dry-run=server", "-f", files+"/samples/pod-conflict.yaml")
		return err != nil && strings.Contains(err.Error(), "conflict occurred while applying poddefaults: "), err
	})
	e.eventually("the sample that asks for the PodDefault has got it", func() (bool, any) { // from each of two servers, one of which may be late
		pod, err := kubectl(e.ctx, "create", "--dry-run=server", "-o", "yaml", "-f", files+"/samples/pod.yaml")
		e.must(err)
		return strings.Contains(pod, "poddefault.admission.kubeflow.org/poddefault-"), pod
	})
}
