package integration

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// A reconciliation that changes nothing writes nothing and reports nothing, independent of what triggered it: a change
// that does not matter to any of its objects, or its own start.
func TestQuiet(t *testing.T) {
	e := newOwnNamespaceEnv(t)
	m := e.manage()
	e.install(bundle())
	m.looksAgain("operator.v1")

	if len(m.reported()) == 0 {
		t.Error("the manager reported nothing of an installation: does this test find anything?")
	}
	since := auditEnd(e)
	for _, o := range e.owned(derived) {
		m.looksAfter(func() {
			kube.Patch(e, client(e, o), o.GetName(), types.MergePatchType,
				[]byte(`{"metadata": {"labels": {"example.com/touched": "yes"}}}`))
		})
	}
	m.looksAfter(func() { labelNamespace(e, e.namespace, "touched", "yes") })
	m.looksAgain("operator.v1")
	m.writesNothing(since)
	none(t, "events although nothing changed", m.reported())

	m.stop()
	again := e.manage()
	again.eventually("the new manager has reconciled everything", func() (bool, any) {
		for _, kind := range []string{"ClusterServiceVersion", "OperatorGroup", "Namespace"} {
			if again.passes(kind) == 0 {
				return false, kind
			}
		}
		return true, nil
	})
	again.writesNothing(again.started)
	none(t, "events of a new manager although nothing changed", again.reported())
}
