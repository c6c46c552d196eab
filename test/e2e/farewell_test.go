package e2e

import (
	"context"
	"strings"
	"testing"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
)

// The whole manager goes, as docs/upgrades.md says how: its operators go on running without
// webhooks, nothing waits for it, and nothing of it is left when they have gone, too. Its
// definitions are applied again for the tests that follow.
func TestManagerUninstalled(t *testing.T) {
	before := (&env{T: t, ctx: t.Context()}).restingCluster()
	e := newEnv(t)
	e.create(owningAPI(hookCSV("hook.v1", server("hook"))))
	e.succeeds("hook.v1")
	e.webhookIs("hook.v1", managerv1alpha1.WebhookRegistered, "Serving")
	e.Cleanup(e.bringManagerBack)

	e.manager("uninstall")
	if csv := e.get("hook.v1"); len(csv.Finalizers) > 0 {
		t.Errorf("hook.v1 has the finalizers %v, and nobody removes them", csv.Finalizers)
	}
	for _, left := range e.derived() {
		if strings.Contains(left, "  ") { // it has no Namespace, and nobody would collect it
			t.Errorf("%s is left of hook.v1", left)
		}
	}
	e.callsAre(uncovered)
	e.rolledOut("hook")
	e.kubectl("delete", "-k", "manifests/manager")
	e.kubectl("delete", "-k", "manifests/crds")

	e.uninstall("hook.v1")
	e.removeNamespace()
	e.eventually("nothing is left of the manager, and all else is as before it installed anything", func() (bool, any) {
		changes := before.changes(e.snapshot())
		for _, change := range changes {
			if what, gone := strings.CutSuffix(change, " is gone"); !gone || !strings.Contains(what, managerDeployment) {
				return false, changes
			}
		}
		return len(changes) > 0, changes
	})
}

// bringManagerBack applies what hack/deploy.sh did.
func (e *env) bringManagerBack() {
	e.Helper()
	e.ctx = context.WithoutCancel(e.ctx)
	e.kubectl("apply", "--server-side", "-k", "out/deploy")
	e.startManager()
}
