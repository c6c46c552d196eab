package release

import (
	"fmt"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const things = "things.example.com"

// held is a definition that serves v1 and stores it, and holds v2 for operator.v2.
func held(change ...func(*apiextensionsv1.CustomResourceDefinition)) *apiextensionsv1.CustomResourceDefinition {
	crd := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: things, UID: "u", ResourceVersion: "7", Annotations: map[string]string{
			wellknown.AnnotationHeldVersions: "v2", wellknown.AnnotationHeldStorageVersion: "v2", wellknown.AnnotationHeldFor: "shop/operator.v2",
		}},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Versions:   []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true}, {Name: "v2"}},
			Conversion: &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter},
		},
	}
	for _, f := range change {
		f(crd)
	}
	return crd
}

func converted(crd *apiextensionsv1.CustomResourceDefinition) {
	crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter, Webhook: &apiextensionsv1.WebhookConversion{
		ClientConfig: &apiextensionsv1.WebhookClientConfig{Service: &apiextensionsv1.ServiceReference{Namespace: "shop", Name: "server-service"}, CABundle: []byte("a CA")},
	}}
}

func served(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions[1].Served = true }

func annotated(name, value string) func(*apiextensionsv1.CustomResourceDefinition) {
	return func(crd *apiextensionsv1.CustomResourceDefinition) {
		if crd.Annotations[name] = value; value == "" {
			delete(crd.Annotations, name)
		}
	}
}

// operator owns a version, and declares a conversion webhook that is live.
func operator(name, version string, change ...func(*Operator)) Operator {
	o := Operator{
		CSV: &operatorsv1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Generation: 3}},
		Status: managerv1alpha1.WebhookRolloutStatus{ObservedGeneration: 3, Deployments: []managerv1alpha1.DeploymentStatus{{
			Name: "server", State: managerv1alpha1.DeploymentAvailable,
			Webhooks: []managerv1alpha1.WebhookStatus{{Type: operatorsv1alpha1.ConversionWebhook, CRDs: []string{things}, State: managerv1alpha1.WebhookRegistered, Reason: managerv1alpha1.ReasonServing}},
		}}},
	}
	o.CSV.Spec.CustomResourceDefinitions.Owned = []operatorsv1alpha1.CRDDescription{{Name: things, Version: version}}
	o.CSV.Spec.WebhookDefinitions = []operatorsv1alpha1.WebhookDescription{{Type: operatorsv1alpha1.ConversionWebhook, DeploymentName: "server", ConversionCRDs: []string{things}}}
	for _, f := range change {
		f(&o)
	}
	return o
}

func without(o *Operator)    { o.CSV.Spec.WebhookDefinitions = nil }
func installing(o *Operator) { o.Status.Deployments[0].State = managerv1alpha1.DeploymentProgressing }
func succeeded(o *Operator)  { o.CSV.Status.Phase = operatorsv1alpha1.CSVPhaseSucceeded }
func edited(o *Operator)     { o.CSV.Generation++ }
func elsewhere(o *Operator)  { o.CSV.Namespace = "mall" }

func waiting(since time.Duration) func(*Operator) {
	return func(o *Operator) {
		installing(o)
		o.Status.Deployments[0].Reason = managerv1alpha1.ReasonPodNotReady
		o.UnreadySince = noon.Add(-since)
	}
}

func replacing(name string) func(*Operator) {
	return func(o *Operator) { o.CSV.Spec.Replaces = name }
}

func TestDecide(t *testing.T) {
	const nothing = "nothing"
	bundled := annotated(wellknown.AnnotationHeldConversion, "system,webhook-service,443,/convert,v1")
	old := operator("operator.v1", "v1", succeeded)
	for name, test := range map[string]struct {
		crd       *apiextensionsv1.CustomResourceDefinition
		operators []Operator
		missing   time.Duration // for how long
		want      string
		again     time.Time
	}{
		"nothing is held": {&apiextensionsv1.CustomResourceDefinition{}, []Operator{old}, 0, nothing, time.Time{}},

		"the operator that brings it does not exist yet": {held(), nil, time.Minute, nothing, noon.Add(4 * time.Minute)},
		"the previous converter is live":                 {held(converted), []Operator{old}, time.Minute, nothing, noon.Add(4 * time.Minute)},
		"the new version is being installed":             {held(converted), []Operator{old, operator("operator.v2", "v2", installing, replacing("operator.v1"))}, 0, nothing, time.Time{}},
		"the new version was edited":                     {held(converted), []Operator{operator("operator.v2", "v2", edited)}, 0, nothing, time.Time{}},
		"the new version converts": {held(converted), []Operator{old, operator("operator.v2", "v2", replacing("operator.v1"))}, 0,
			"CustomResourceDefinition things.example.com serves v2: the conversion webhook serves", time.Time{}},
		"it does not list the version": {held(converted), []Operator{operator("operator.v2", "v1")}, 0,
			"CustomResourceDefinition things.example.com serves v2: the conversion webhook serves", time.Time{}},
		"an operator of another namespace converts": {held(converted), []Operator{operator("operator.v2", "v2", elsewhere)}, 0, nothing, time.Time{}},
		"no conversion is registered yet":           {held(), []Operator{operator("operator.v2", "v2")}, 0, nothing, time.Time{}},

		"another client added the version":                           {held(converted, annotated(wellknown.AnnotationHeldFor, "")), []Operator{old}, 0, nothing, time.Time{}},
		"another client added it, and the operator owns the version": {held(converted, annotated(wellknown.AnnotationHeldFor, "")), []Operator{operator("operator.v1", "v2")}, 0, "CustomResourceDefinition things.example.com serves v2: the conversion webhook serves", time.Time{}},

		"served, before it has succeeded": {held(converted, served), []Operator{old, operator("operator.v2", "v2")}, 0, "annotations map[olm-webhook-manager.io/held-for:shop/operator.v2 olm-webhook-manager.io/held-storage-version:v2]", time.Time{}},
		"served, after it has succeeded": {held(converted, served, annotated(wellknown.AnnotationHeldVersions, "")), []Operator{operator("operator.v2", "v2", succeeded)}, 0,
			"CustomResourceDefinition things.example.com stores objects in v2: the conversion webhook serves", time.Time{}},

		"a version that was uninstalled": {held(), nil, 5 * time.Minute,
			"CustomResourceDefinition things.example.com serves v2 and stores objects in v2: no ClusterServiceVersion declares a conversion webhook", time.Time{}},
		"no webhook converts": {held(), []Operator{operator("operator.v2", "v2", without)}, 0,
			"CustomResourceDefinition things.example.com serves v2 and stores objects in v2: no ClusterServiceVersion declares a conversion webhook", time.Time{}},
		"a ClusterServiceVersion of another namespace claims it": {held(), []Operator{operator("operator.v2", "v2", without), operator("claim.v1", "v2", elsewhere)}, 0,
			"CustomResourceDefinition things.example.com serves v2 and stores objects in v2: no ClusterServiceVersion declares a conversion webhook", time.Time{}},
		"no webhook converts, and the bundle names one": {held(bundled), []Operator{operator("operator.v2", "v2", without)}, 0,
			"CustomResourceDefinition things.example.com serves v2 and stores objects in v2 and has the conversion webhook of the bundle: no ClusterServiceVersion declares a conversion webhook", time.Time{}},
		"the new version ends the conversion, which is in use": {held(converted), []Operator{old, operator("operator.v2", "v2", without, replacing("operator.v1"))}, 0, nothing, time.Time{}},
		"the new version has ended the conversion": {held(), []Operator{old, operator("operator.v2", "v2", without, replacing("operator.v1"))}, 0,
			"CustomResourceDefinition things.example.com serves v2 and stores objects in v2: no ClusterServiceVersion declares a conversion webhook", time.Time{}},
		"the conversion was set up instead of that of the bundle": {held(converted, served, bundled, annotated(wellknown.AnnotationHeldVersions, ""), annotated(wellknown.AnnotationHeldStorageVersion, "")), []Operator{operator("operator.v2", "v2")}, 0, "annotations map[]", time.Time{}},

		"pods that may wait for it":       {held(), []Operator{operator("operator.v2", "v2", waiting(40*time.Second))}, 0, nothing, noon.Add(20 * time.Second)},
		"pods that have waited for it":    {held(), []Operator{operator("operator.v2", "v2", waiting(time.Minute))}, 0, "CustomResourceDefinition things.example.com serves v2: Deployment server may be waiting for it. Requests in it fail until the conversion webhook serves; converted by Service shop/server-service", time.Time{}},
		"pods that wait, and a converter": {held(converted), []Operator{operator("operator.v2", "v2", waiting(time.Hour))}, 0, "CustomResourceDefinition things.example.com serves v2: Deployment server may be waiting for it. Requests in it fail until the conversion webhook serves", time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			facts := Facts{CRD: test.crd, Operators: test.operators, Patience: time.Minute}
			if test.missing > 0 {
				facts.MissingSince = noon.Add(-test.missing)
			}
			change, again := Decide(facts, noon)
			got := change.Message(things)
			switch {
			case change.None():
				got = nothing
			case change.Stale:
				got = "annotations " + fmt.Sprint(change.Held.Annotations())
			case change.Early != "" && change.Convert != nil:
				service := change.Convert.Webhook.ClientConfig.Service
				got += "; converted by Service " + service.Namespace + "/" + service.Name
			}
			installtest.Same(t, "the change", test.want, got)
			installtest.Same(t, "when to decide again", test.again, again)
		})
	}
}

func TestPatch(t *testing.T) {
	const precondition = `{"op":"test","path":"/metadata/uid","value":"u"},{"op":"replace","path":"/metadata/resourceVersion","value":"7"}`
	for name, test := range map[string]struct {
		crd      *apiextensionsv1.CustomResourceDefinition
		operator Operator
		want     string
	}{
		"a version": {held(converted), operator("operator.v2", "v2"), `{"op":"replace","path":"/spec/versions/1/served","value":true},` +
			`{"op":"replace","path":"/metadata/annotations/olm-webhook-manager.io~1held-for","value":"shop/operator.v2"},` +
			`{"op":"replace","path":"/metadata/annotations/olm-webhook-manager.io~1held-storage-version","value":"v2"},` +
			`{"op":"remove","path":"/metadata/annotations/olm-webhook-manager.io~1held-versions"}`},
		"everything": {held(annotated(wellknown.AnnotationHeldConversion, "system,webhook-service,443,,v1")), operator("operator.v2", "v2", without),
			`{"op":"replace","path":"/spec/versions/0/storage","value":false},{"op":"replace","path":"/spec/versions/1/served","value":true},{"op":"replace","path":"/spec/versions/1/storage","value":true},` +
				`{"op":"add","path":"/spec/conversion","value":{"strategy":"Webhook","webhook":{"clientConfig":{"service":{"namespace":"system","name":"webhook-service","port":443}},"conversionReviewVersions":["v1"]}}},` +
				`{"op":"remove","path":"/metadata/annotations/olm-webhook-manager.io~1held-conversion"},{"op":"remove","path":"/metadata/annotations/olm-webhook-manager.io~1held-for"},` +
				`{"op":"remove","path":"/metadata/annotations/olm-webhook-manager.io~1held-storage-version"},{"op":"remove","path":"/metadata/annotations/olm-webhook-manager.io~1held-versions"}`},
	} {
		t.Run(name, func(t *testing.T) {
			change, _ := Decide(Facts{CRD: test.crd, Operators: []Operator{test.operator}}, noon)
			installtest.Same(t, "the patch", "["+precondition+","+test.want+"]", string(change.Patch(test.crd)))
		})
	}
}
