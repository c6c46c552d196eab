package conversion

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/heldversions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
)

// VersionsHeld returns which versions of converted definitions are not served, although a client added them, by the name
// of each definition. Awaited versions, for which the ClusterServiceVersion itself waits, are in its phase.
func VersionsHeld(definitions map[string]*apiextensionsv1.CustomResourceDefinition, awaited []string) string {
	var messages []string
	for _, name := range slices.Sorted(maps.Keys(definitions)) {
		held := heldversions.Of(definitions[name])
		versions := slices.DeleteFunc(held.Versions, func(v string) bool { return slices.Contains(awaited, csvspec.CRDVersion(name, v)) })
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
