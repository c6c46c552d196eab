package rollout

import (
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/vocabulary"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install"
)

// rerouteConversions decides about live conversions whose description names another path than
// before, as reroute does about the other webhooks.
func (p *planner) rerouteConversions(d install.Deployment, w install.Webhook, backend progress) (view webhookView, decided bool) {
	i := slices.IndexFunc(w.Conversions, p.pathEdited)
	if p.Policy.Gate != GateServing || i < 0 {
		return webhookView{}, false
	}
	reason, message := p.obstacle(d, w, backend)
	if reason == "" {
		return webhookView{}, false
	}
	edited := w.Conversions[i]
	was := conversionPath(p.Observed.CRDs[edited.CRD].Spec.Conversion)
	p.wantConversions(p.asRouted(w.Conversions))
	since := sinceOf(p.Previous, w, managerv1alpha1.WebhookRegistered, p.now)
	view = p.reachability(d, w, "", wholeSecond(since), backend)
	return moving(view, reason, fmt.Sprintf("path %q is called until %q is served: %s", was, conversionPath(&edited.Spec), message)), true
}

// asRouted are conversions with the paths that API servers call now, where the description
// names another one than before.
func (p *planner) asRouted(conversions []install.Conversion) []install.Conversion {
	routed := slices.Clone(conversions)
	for i, c := range routed {
		if p.pathEdited(c) {
			path := conversionPath(p.Observed.CRDs[c.CRD].Spec.Conversion)
			routed[i].Spec = *c.Spec.DeepCopy()
			routed[i].Spec.Webhook.ClientConfig.Service.Path = &path
		}
	}
	return routed
}

// pathEdited reports whether a definition is converted by the Service of a conversion at another
// path, which the manager wrote. One that another client wrote is repaired at once.
func (p *planner) pathEdited(c install.Conversion) bool {
	live := p.Observed.CRDs[c.CRD]
	return live != nil && converted(live, c) && conversionPath(live.Spec.Conversion) != conversionPath(&c.Spec) && wroteAlone(live, conversionRoute)
}

// wroteAlone reports whether the manager owns some fields of an object, and no other client does.
func wroteAlone(live Object, fields *fieldpath.Set) bool {
	own := slices.ContainsFunc(live.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager == vocabulary.FieldManager && !fieldsOf(entry).Intersection(fields).Empty()
	})
	return own && lastWriter(live, fields) == ""
}

var conversionRoute = fieldpath.NewSet(fieldpath.MakePathOrDie("spec", "conversion", "webhook", "clientConfig", "service", "path"))

// conversionPath is the path that a conversion calls.
func conversionPath(c *apiextensionsv1.CustomResourceConversion) string {
	if c == nil || c.Webhook == nil || c.Webhook.ClientConfig == nil || c.Webhook.ClientConfig.Service == nil || c.Webhook.ClientConfig.Service.Path == nil {
		return ""
	}
	return *c.Webhook.ClientConfig.Service.Path
}
