package reviews

import (
	"encoding/json"
	"fmt"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/rules"
)

func reviewed(t *testing.T, csv *operatorsv1alpha1.ClusterServiceVersion, d operatorsv1alpha1.WebhookDescription) (Request, admissionv1.AdmissionRequest) {
	t.Helper()
	r := For(csv, d, installtest.SomeCatalog())
	if r == (Request{}) {
		t.Fatal("there is no review")
	}
	var review admissionv1.AdmissionReview
	installtest.Must(t, json.Unmarshal([]byte(r.Body), &review))
	if review.APIVersion != r.APIVersion || review.Kind != r.Kind || review.Request.UID != types.UID(r.UID) {
		t.Errorf("the body is %s of %s with the uid %s, the review reports %+v", review.Kind, review.APIVersion, review.Request.UID, r)
	}
	return r, *review.Request
}

func shop() *operatorsv1alpha1.ClusterServiceVersion {
	return &operatorsv1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "shop.v1", UID: "5f0c", Annotations: map[string]string{
		wellknown.AnnotationTargetNamespaces: "blue,red",
		"alm-examples":                       `[{"apiVersion": "shop.example.com/v1", "kind": "Order", "metadata": {"name": "example"}, "spec": {"items": 3}}]`,
	}}}
}

func admitting(rules ...admissionregistrationv1.RuleWithOperations) operatorsv1alpha1.WebhookDescription {
	none, path := admissionregistrationv1.SideEffectClassNone, "/validate"
	return operatorsv1alpha1.WebhookDescription{
		Type: operatorsv1alpha1.ValidatingAdmissionWebhook, GenerateName: "v.example.com", WebhookPath: &path,
		SideEffects: &none, AdmissionReviewVersions: []string{"v1"}, Rules: rules,
	}
}

func on(resources ...string) admissionregistrationv1.RuleWithOperations {
	return installtest.RuleOn([]string{"", "apps", "shop.example.com"}, []string{"v1"}, resources)
}

// What is sent is what an API server would send in a dry run of a request that the rules match.
func TestTheRequestUnderReview(t *testing.T) {
	updating := func(r admissionregistrationv1.RuleWithOperations, operations ...admissionregistrationv1.OperationType) admissionregistrationv1.RuleWithOperations {
		r.Operations = operations
		return r
	}
	for name, test := range map[string]struct {
		d    operatorsv1alpha1.WebhookDescription
		want string // operation kind resource/subresource namespace/name, and which objects
	}{
		"pods":                     {admitting(on("pods")), "CREATE /v1, Kind=Pod pods/ blue/olm-webhook-manager-probe, object"},
		"the first that is served": {admitting(on("things"), on("deployments")), "CREATE apps/v1, Kind=Deployment deployments/ blue/olm-webhook-manager-probe, object"},
		"one that is named":        {admitting(on("*"), on("orders")), "CREATE shop.example.com/v1, Kind=Order orders/ blue/olm-webhook-manager-probe, object"},
		"an asterisk":              {admitting(installtest.RuleOn([]string{"apps"}, []string{"*"}, []string{"*"})), "CREATE apps/v1, Kind=Deployment deployments/ blue/olm-webhook-manager-probe, object"},
		"a Namespace":              {admitting(on("namespaces")), "CREATE /v1, Kind=Namespace namespaces/ olm-webhook-manager-probe/olm-webhook-manager-probe, object"},
		"a binding":                {admitting(on("pods/binding")), "CREATE /v1, Kind=Binding pods/binding blue/olm-webhook-manager-probe, object"},
		"updates":                  {admitting(updating(on("pods"), "DELETE", "UPDATE")), "UPDATE /v1, Kind=Pod pods/ blue/olm-webhook-manager-probe, object, oldObject"},
		"deletions":                {admitting(updating(on("pods"), "DELETE")), "DELETE /v1, Kind=Pod pods/ blue/olm-webhook-manager-probe, oldObject"},
		"a status":                 {admitting(updating(on("pods/status"), "*")), "UPDATE /v1, Kind=Pod pods/status blue/olm-webhook-manager-probe, object, oldObject"},
		"every operation":          {admitting(updating(on("pods"), "*")), "CREATE /v1, Kind=Pod pods/ blue/olm-webhook-manager-probe, object"},
	} {
		t.Run(name, func(t *testing.T) {
			r, request := reviewed(t, shop(), test.d)
			got := string(request.Operation) + " " + request.Kind.String() + " " + request.Resource.Resource + "/" + request.SubResource + " " + request.Namespace + "/" + request.Name
			if len(request.Object.Raw) > 0 {
				got += ", object"
			}
			if len(request.OldObject.Raw) > 0 {
				got += ", oldObject"
			}
			if got != test.want || r.AnyAnswer || r.Path != "/validate" || request.DryRun == nil || !*request.DryRun {
				t.Errorf("%s (any answer: %t, path %s, dry run %v), want %s", got, r.AnyAnswer, r.Path, request.DryRun, test.want)
			}
		})
	}
}

// Servers rely on what every object has, and on what they select by.
func TestTheObjectUnderReview(t *testing.T) {
	d := admitting(on("orders"))
	d.ObjectSelector = &metav1.LabelSelector{
		MatchLabels:      map[string]string{"a": "b"},
		MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "c", Operator: metav1.LabelSelectorOpIn, Values: []string{"d", "e"}}, {Key: "f", Operator: metav1.LabelSelectorOpDoesNotExist}},
	}
	_, request := reviewed(t, shop(), d)
	const order = `{"apiVersion":"shop.example.com/v1","kind":"Order","metadata":{"labels":{"a":"b","c":"d"},"name":"olm-webhook-manager-probe","namespace":"blue","uid":"5f0c"},"spec":{"items":3}}`
	installtest.Same(t, "the author's example", order, string(request.Object.Raw))
	_, request = reviewed(t, shop(), admitting(on("pods")))
	var pod struct {
		Spec struct{ Containers []struct{ Name string } }
	}
	installtest.Must(t, json.Unmarshal(request.Object.Raw, &pod))
	installtest.Same(t, "containers of the pod", 1, len(pod.Spec.Containers))
}

func TestReviewsOfSomeWebhooks(t *testing.T) {
	change := func(f func(*operatorsv1alpha1.WebhookDescription)) operatorsv1alpha1.WebhookDescription {
		d := admitting(on("pods"))
		f(&d)
		return d
	}
	some := admissionregistrationv1.SideEffectClassSome
	onDryRun := admissionregistrationv1.SideEffectClassNoneOnDryRun
	for name, test := range map[string]struct {
		d         operatorsv1alpha1.WebhookDescription
		want      string // apiVersion and path; empty for none
		anyAnswer bool
	}{
		"the first version that API servers know": {change(func(d *operatorsv1alpha1.WebhookDescription) {
			d.AdmissionReviewVersions = []string{"v2", "v1beta1", "v1"}
		}), "admission.k8s.io/v1beta1 /validate", false},
		"no version that API servers know": {change(func(d *operatorsv1alpha1.WebhookDescription) { d.AdmissionReviewVersions = []string{"v2"} }), "", false},
		"side effects":                     {change(func(d *operatorsv1alpha1.WebhookDescription) { d.SideEffects = &some }), "", false},
		"no side effects in a dry run":     {change(func(d *operatorsv1alpha1.WebhookDescription) { d.SideEffects = &onDryRun }), "admission.k8s.io/v1 /validate", false},
		"no path":                          {change(func(d *operatorsv1alpha1.WebhookDescription) { d.WebhookPath = nil }), "admission.k8s.io/v1 /", false},
		"rules that match nothing":         {admitting(on("things")), "admission.k8s.io/v1 /validate", true},
		"an APIService":                    {change(func(d *operatorsv1alpha1.WebhookDescription) { d.Type = csvspec.APIServiceType }), "", false},
		"a conversion": {change(func(d *operatorsv1alpha1.WebhookDescription) {
			d.Type, d.SideEffects = operatorsv1alpha1.ConversionWebhook, nil
		}), "apiextensions.k8s.io/v1 /validate", false},
	} {
		t.Run(name, func(t *testing.T) {
			r, got := For(shop(), test.d, installtest.SomeCatalog()), ""
			if r != (Request{}) {
				got = r.APIVersion + " " + r.Path
			}
			installtest.Same(t, "the review", test.want, got)
			installtest.Same(t, "any answer", test.anyAnswer, r.AnyAnswer)
		})
	}
	t.Run("a server that must not be asked", func(t *testing.T) {
		csv := shop()
		csv.Annotations[wellknown.AnnotationProbe] = wellknown.ProbeHandshake
		installtest.Same(t, "review", Request{}, For(csv, admitting(on("pods")), installtest.SomeCatalog()))
	})
}

// A conversion of no objects cannot go wrong for the sake of an object.
func TestTheConversionUnderReview(t *testing.T) {
	csv := shop()
	csv.Spec.CustomResourceDefinitions.Owned = []operatorsv1alpha1.CRDDescription{
		{Name: "tills.shop.example.com", Version: "v7"}, {Name: "orders.shop.example.com", Version: "v2"},
	}
	d := operatorsv1alpha1.WebhookDescription{Type: operatorsv1alpha1.ConversionWebhook, ConversionCRDs: []string{"orders.shop.example.com"}, AdmissionReviewVersions: []string{"v1", "v1beta1"}}
	var review apiextensionsv1.ConversionReview
	r := For(csv, d, rules.Catalog{})
	installtest.Must(t, json.Unmarshal([]byte(r.Body), &review))
	if review.Request.DesiredAPIVersion != "shop.example.com/v2" || review.Request.Objects == nil || len(review.Request.Objects) > 0 || r.AnyAnswer || r.Path != "/" {
		t.Errorf("the review is %+v", r)
	}
}

// The review has to be sent to the path that API servers call, which their client derives from what is registered.
func TestPathsUnderReview(t *testing.T) {
	for _, path := range []string{"/validate", "/validate/", "/validate//", "/", "", "/a/../b/", "/with space/", "/a%2Fb/"} {
		client, err := rest.UnversionedRESTClientFor(&rest.Config{Host: "https://shop.shop.svc", APIPath: path, ContentConfig: rest.ContentConfig{NegotiatedSerializer: scheme.Codecs}})
		installtest.Must(t, err)
		admits := admitting(on("pods"))
		converts := operatorsv1alpha1.WebhookDescription{Type: operatorsv1alpha1.ConversionWebhook, ConversionCRDs: []string{"orders.shop.example.com"}, AdmissionReviewVersions: []string{"v1"}}
		for _, d := range []operatorsv1alpha1.WebhookDescription{admits, converts} {
			d.WebhookPath = &path
			installtest.Same(t, fmt.Sprintf("the path of %s with webhookPath %q", d.Type, path), client.Post().URL().Path, For(shop(), d, installtest.SomeCatalog()).Path)
		}
	}
}
