package rollout

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/heldversions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
)

// versionsHeld returns which versions of converted definitions are not served, although a client added them. The phase
// reports versions that the ClusterServiceVersion itself waits for.
func (r *reporter) versionsHeld() string {
	var messages []string
	for _, name := range slices.Sorted(maps.Keys(r.Observed.CRDs)) {
		held := heldversions.Of(r.Observed.CRDs[name])
		versions := slices.DeleteFunc(held.Versions, func(v string) bool { return slices.Contains(r.Verdict.Held, csvspec.CRDVersion(name, v)) })
		if len(versions) > 0 {
			messages = append(messages, fmt.Sprintf("CustomResourceDefinition %s does not serve %s yet: %s", name, strings.Join(versions, ", "), whyHeld(name, held)))
		}
	}
	return strings.Join(messages, "; ")
}

func whyHeld(crd string, held heldversions.Held) string {
	if len(held.For) > 0 {
		return fmt.Sprintf("an InstallPlan added it for ClusterServiceVersion %s, whose conversion webhook is not live", strings.Join(lists.Map(held.For, types.NamespacedName.String), ", "))
	}
	return fmt.Sprintf("no ClusterServiceVersion with a live conversion webhook owns it. Add it to spec.customresourcedefinitions.owned there. "+
		"If the webhook converts to it, run `kubectl annotate crd %s %s=%s` and serve it", crd, wellknown.AnnotationCRDPolicy, wellknown.CRDPolicyOff)
}
