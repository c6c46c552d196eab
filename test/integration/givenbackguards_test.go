package integration

import (
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// For a version that is given back, the manager writes no ClusterRoles of APIs and no component labels. It writes them for
// another version at the same time, and for the same version when it is held.
func TestNothingIsWrittenForUsersOfAGivenBackVersion(t *testing.T) {
	e := newEnvInPlaceOfOLM(t)
	defineOperators(e)
	back := installedByCatalog(e, newCRDOfKind(e, "gears", "Gear"), "operator.v1")
	witness := installedByCatalog(e, newCRDOfKind(e, "knobs", "Knob"), "other.v1")
	c := claiming(csv("operator.v1", "server"), "v1", back.Name)
	c.Spec.CustomResourceDefinitions.Owned[0].Kind = "Gear"
	c.Labels = map[string]string{e.component(): ""}
	installedByOLM(e, c, wellknown.TakeoverGivenBack)
	other := claiming(csv("other.v1", "plain"), "v1", witness.Name)
	other.Spec.CustomResourceDefinitions.Owned[0].Kind = "Knob"
	other.Spec.WebhookDefinitions = nil
	other.Labels = map[string]string{e.component(): ""}
	written := func(crd, deployment string) [2]bool {
		e.Helper()
		d := e.deployment(deployment)
		labelled := false
		if d != nil {
			_, labelled = d.Labels[e.component()]
		}
		return [2]bool{clusterRole(e, crd+"-v1-edit") != nil, labelled}
	}

	m := manageInPlaceOfOLM(e)
	e.install(other)
	becomes(e, "the ClusterRole and the label of the other version exist", func() [2]bool { return written(witness.Name, "plain") }, [2]bool{true, true})
	m.looksAgain("operator.v1")
	same(t, "the ClusterRole and the label of the version that is given back exist", written(back.Name, "server"), [2]bool{false, false})
	orderTakeover(e, wellknown.TakeoverHeld)
	becomes(e, "they exist when it is held", func() [2]bool { return written(back.Name, "server") }, [2]bool{true, true})
}
