package adoption

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

func TestRefusal(t *testing.T) {
	version := func(namespace, name string) *operatorsv1alpha1.ClusterServiceVersion {
		return &operatorsv1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	}
	v2, v1 := version("shop", "shop.v2"), version("shop", "shop.v1")
	adopter := Adopter{
		Versions: []*operatorsv1alpha1.ClusterServiceVersion{v2, v1},
		Exists:   func(owner string) bool { return owner == "bar/bar.v1" || owner == "shop/shop.v2" },
		Calls:    func(service string) bool { return service == "shop-service" },
	}
	deployment := func(owners ...string) drift.Object {
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "d"}}
		for _, owner := range owners {
			kind, name, _ := strings.Cut(owner, " ")
			d.OwnerReferences = append(d.OwnerReferences, installtest.OwnerOf(kind, name))
		}
		return d
	}
	service := func(managed string) drift.Object {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "s", Labels: map[string]string{wellknown.LabelManaged: managed}}}
	}
	api := func(owner *operatorsv1alpha1.ClusterServiceVersion, namespace, service string) drift.Object {
		a := &apiregistrationv1.APIService{ObjectMeta: metav1.ObjectMeta{Name: "v1.shop.example.com"}}
		if owner != nil {
			a.Labels = csvspec.OwnerLabels(owner)
		}
		if service != "" {
			a.Spec.Service = &apiregistrationv1.ServiceReference{Namespace: namespace, Name: service}
		}
		return a
	}
	labelled := func(o drift.Object, owner *operatorsv1alpha1.ClusterServiceVersion) drift.Object {
		o.SetLabels(csvspec.OwnerLabels(owner))
		return o
	}
	withoutLabel := labelled(deployment("ClusterServiceVersion shop.v2"), v2)
	delete(withoutLabel.GetLabels(), wellknown.LabelManaged)
	issuerObject := func(managed string) drift.Object {
		o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}
		o.SetNamespace("shop")
		o.SetName("shop-service-ca")
		o.SetLabels(map[string]string{wellknown.LabelManaged: managed})
		return o
	}
	budget := func(annotated string, owners ...string) drift.Object {
		b := &policyv1.PodDisruptionBudget{ObjectMeta: *deployment(owners...).(*appsv1.Deployment).ObjectMeta.DeepCopy()}
		b.Labels, b.Annotations = csvspec.OwnerLabels(v2), map[string]string{wellknown.AnnotationBudgetFor: annotated}
		return b
	}
	tests := map[string]struct {
		object  drift.Object
		refusal string
	}{
		"own, and a label is removed":            {withoutLabel, ""},
		"own":                                    {deployment("ClusterServiceVersion shop.v2"), ""},
		"of a replaced version":                  {deployment("ClusterServiceVersion shop.v1"), ""},
		"shared":                                 {deployment("ClusterServiceVersion other.v1", "ClusterServiceVersion shop.v1"), ""},
		"shared, and adopted by another version": {labelled(deployment("ClusterServiceVersion bar.v1", "ClusterServiceVersion shop.v1"), version("bar", "bar.v1")), "Deployment shop/d belongs to ClusterServiceVersion bar/bar.v1"},
		"shared, and own":                        {labelled(deployment("ClusterServiceVersion bar.v1", "ClusterServiceVersion shop.v1"), v2), ""},
		"another owner's":                        {deployment("ConfigMap c", "ClusterServiceVersion other.v1"), "Deployment shop/d belongs to ClusterServiceVersion other.v1"},
		"owned by a kind of another group":       {deployment("ClusterServiceVersion.evil.example.com other.v1"), ""},
		"adopted, and owned by a kind of another group": {labelled(deployment("ClusterServiceVersion.evil.example.com shop.v1", "ClusterServiceVersion other.v1"), v2), "Deployment shop/d belongs to ClusterServiceVersion other.v1"},
		"no owner":                                                  {deployment(), ""},
		"owned by a definition":                                     {deployment("CustomResourceDefinition shops"), ""},
		"a Service of another client":                               {service(""), "Service shop/s is not the manager's"},
		"a Service of a deleted owner":                              {service("true"), ""},
		"a ConfigMap of another client":                             {issuerObject(""), "ConfigMap shop/shop-service-ca is not the manager's"},
		"a ConfigMap of a deleted owner":                            {issuerObject("true"), ""},
		"an own budget":                                             {budget("shop", "ClusterServiceVersion shop.v2"), ""},
		"a budget of the bundle":                                    {budget("", "ClusterServiceVersion shop.v2"), "PodDisruptionBudget shop/d is not the manager's: delete it, or remove the annotation"},
		"a budget without an owner":                                 {budget("shop"), "PodDisruptionBudget shop/d is not the manager's: delete it, or remove the annotation"},
		"an own APIService":                                         {api(v2, "shop", "any"), ""},
		"an APIService of a replaced version":                       {api(v1, "shop", "any"), ""},
		"an APIService of the API server":                           {api(nil, "", ""), "is what the API server serves itself"},
		"an APIService of another ClusterServiceVersion":            {api(version("bar", "bar.v1"), "bar", "s"), "belongs to ClusterServiceVersion bar/bar.v1"},
		"an APIService of a deleted owner":                          {api(version("bar", "bar.v0"), "bar", "s"), ""},
		"an APIService of a deleted owner, calling another Service": {api(version("bar", "bar.v0"), "elsewhere", "s"), "requests to Service elsewhere/s"},
		"an APIService that calls the operator's Service":           {api(nil, "shop", "shop-service"), ""},
		"an APIService that calls a Service of the same name":       {api(nil, "bar", "shop-service"), "requests to Service bar/shop-service"},
		"an APIService that calls another Service":                  {api(nil, "shop", "another"), "requests to Service shop/another"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { installtest.Says(t, "the refusal", test.refusal, adopter.Refusal(test.object)) })
	}
}

// The labels of a ClusterServiceVersion alone do not prove its ownership of an APIService.
func TestLabelsAreNoProof(t *testing.T) {
	csv := &operatorsv1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "shop.v1"}}
	live := &apiregistrationv1.APIService{ObjectMeta: metav1.ObjectMeta{Name: "v1.shop.example.com", Labels: csvspec.OwnerLabels(csv)}}
	live.Spec.Service = &apiregistrationv1.ServiceReference{Namespace: "elsewhere", Name: "s"}
	for proved, want := range map[bool]string{
		true:  "",
		false: "APIService v1.shop.example.com has the labels of this ClusterServiceVersion and sends requests to Service elsewhere/s, which is not its own: delete the APIService first",
	} {
		adopter := Adopter{
			Versions: []*operatorsv1alpha1.ClusterServiceVersion{csv}, Proves: func(drift.Object) bool { return proved },
			Exists: func(string) bool { return true }, Calls: func(string) bool { return false },
		}
		installtest.Same(t, fmt.Sprintf("proved %t: the refusal", proved), want, adopter.Refusal(live))
	}
}
