// Package reviews renders the request that tests a webhook server before the webhook is registered.
package reviews

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/rules"
)

// Request proves that a webhook server serves a path. The zero value means no request.
type Request struct {
	Path string
	// Body is the review as JSON. The response must have APIVersion, Kind and UID.
	Body, APIVersion, Kind, UID string
	// AnyAnswer is set if the resources are not known. The server may then respond with any error.
	AnyAnswer bool
}

// probeName is the name of the object in the review.
const probeName = "olm-webhook-manager-probe"

// For returns a dry-run request, or a conversion without objects; none without a supported review version.
func For(csv *operatorsv1alpha1.ClusterServiceVersion, d operatorsv1alpha1.WebhookDescription, c rules.Catalog) Request {
	version := reviewVersion(d)
	if version == "" || d.Type == csvspec.APIServiceType || csv.Annotations[wellknown.AnnotationProbe] == wellknown.ProbeHandshake {
		return Request{}
	}
	called := path.Join("/", ptr.Deref(d.WebhookPath, "")) // as the client of API servers, which removes a trailing slash
	if d.Type == operatorsv1alpha1.ConversionWebhook {
		return conversionReview(csv, d, called, version)
	}
	if d.SideEffects == nil || *d.SideEffects != admissionregistrationv1.SideEffectClassNone && *d.SideEffects != admissionregistrationv1.SideEffectClassNoneOnDryRun {
		return Request{}
	}
	return admissionReview(csv, d, called, version, c)
}

// reviewVersion returns the version that an API server selects: the first supported one.
func reviewVersion(d operatorsv1alpha1.WebhookDescription) string {
	return lists.First(d.AdmissionReviewVersions, func(version string) bool { return version == "v1" || version == "v1beta1" })
}

// A server that converts answers a review without objects, and no missing field can make it fail.
func conversionReview(csv *operatorsv1alpha1.ClusterServiceVersion, d operatorsv1alpha1.WebhookDescription, called, version string) Request {
	review := apiextensionsv1.ConversionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/" + version, Kind: "ConversionReview"},
		Request:  &apiextensionsv1.ConversionRequest{UID: csv.UID, Objects: []runtime.RawExtension{}},
	}
	for _, owned := range csv.Spec.CustomResourceDefinitions.Owned {
		if _, group, ok := strings.Cut(owned.Name, "."); ok && slices.Contains(d.ConversionCRDs, owned.Name) {
			review.Request.DesiredAPIVersion = group + "/" + owned.Version
			break
		}
	}
	return reviewWith(called, review.TypeMeta, csv, review)
}

func admissionReview(csv *operatorsv1alpha1.ClusterServiceVersion, d operatorsv1alpha1.WebhookDescription, called, version string, c rules.Catalog) Request {
	example, known := exampleOf(d, c)
	review := admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/" + version, Kind: "AdmissionReview"},
		Request:  example.request(csv, d),
	}
	made := reviewWith(called, review.TypeMeta, csv, review)
	made.AnyAnswer = !known
	return made
}

func reviewWith(called string, is metav1.TypeMeta, csv *operatorsv1alpha1.ClusterServiceVersion, review any) Request {
	body, err := json.Marshal(review)
	if err != nil {
		return Request{} // an example with a number that JSON does not have
	}
	return Request{Path: called, Body: string(body), APIVersion: is.APIVersion, Kind: is.Kind, UID: string(csv.UID)}
}

// example is a request that the rules of a webhook match.
type example struct {
	rules.Served
	operation admissionv1.Operation
}

// exampleOf prefers a resource that a rule names to one that "*" matches, and this to a ConfigMap.
func exampleOf(d operatorsv1alpha1.WebhookDescription, c rules.Catalog) (e example, known bool) {
	for _, wildcards := range []bool{false, true} {
		for _, rule := range d.Rules {
			for _, named := range rule.Resources {
				if strings.HasPrefix(named, "*") != wildcards {
					continue
				}
				if e, known := exampleIn(c, rule, named); known {
					return e, true
				}
			}
		}
	}
	core := schema.GroupVersion{Version: "v1"}
	return example{rules.Served{Resource: rules.Resource{Name: "configmaps", Kind: core.WithKind("ConfigMap"), Extent: rules.Namespaced}, Version: core}, admissionv1.Create}, false
}

func exampleIn(c rules.Catalog, rule admissionregistrationv1.RuleWithOperations, named string) (e example, known bool) {
	found := c.Find(rule, named).Served
	if len(found) == 0 {
		return example{}, false
	}
	operation := operationOf(rule, strings.Contains(found[0].Name, "/"))
	return example{found[0], operation}, operation != ""
}

// operationOf returns the most common operation of a rule.
func operationOf(rule admissionregistrationv1.RuleWithOperations, below bool) admissionv1.Operation {
	order := []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update, admissionregistrationv1.Delete, admissionregistrationv1.Connect}
	if below { // most subresources are a status
		order[0], order[1] = order[1], order[0]
	}
	return admissionv1.Operation(lists.First(order, func(operation admissionregistrationv1.OperationType) bool {
		return slices.Contains(rule.Operations, operation) || slices.Contains(rule.Operations, admissionregistrationv1.OperationAll)
	}))
}

func (e example) request(csv *operatorsv1alpha1.ClusterServiceVersion, d operatorsv1alpha1.WebhookDescription) *admissionv1.AdmissionRequest {
	name, subresource, _ := strings.Cut(e.Name, "/")
	resource := e.Version.WithResource(name)
	request := &admissionv1.AdmissionRequest{
		UID: csv.UID, Kind: metav1.GroupVersionKind(e.Kind), Resource: metav1.GroupVersionResource(resource), SubResource: subresource,
		Name: probeName, Operation: e.operation, DryRun: new(true), UserInfo: authenticationv1.UserInfo{Username: probeName, Groups: []string{"system:authenticated"}},
	}
	if options := optionsOf[e.operation]; options != "" {
		request.Options.Raw = []byte(`{"apiVersion":"meta.k8s.io/v1","kind":"` + options + `","dryRun":["All"]}`)
	}
	request.RequestKind, request.RequestResource, request.RequestSubResource = &request.Kind, &request.Resource, subresource
	switch {
	case e.Extent == rules.Namespaced:
		request.Namespace = firstTarget(csv)
	case resource.Group == "" && name == "namespaces":
		request.Namespace = probeName
	}
	object := e.object(csv, d)
	if e.operation != admissionv1.Delete {
		request.Object.Raw = object
	}
	if e.operation == admissionv1.Update || e.operation == admissionv1.Delete {
		request.OldObject.Raw = object
	}
	return request
}

var optionsOf = map[admissionv1.Operation]string{
	admissionv1.Create: "CreateOptions", admissionv1.Update: "UpdateOptions", admissionv1.Delete: "DeleteOptions",
}

func firstTarget(csv *operatorsv1alpha1.ClusterServiceVersion) string {
	if first, _, _ := strings.Cut(csv.Annotations[wellknown.AnnotationTargetNamespaces], ","); first != "" {
		return first
	}
	return csv.Namespace
}

// Some servers do not check for fields that every object has, so the author's example is preferred.
func (e example) object(csv *operatorsv1alpha1.ClusterServiceVersion, d operatorsv1alpha1.WebhookDescription) []byte {
	object := authorsExample(csv, e.Kind)
	if object == nil {
		object = skeleton(e.Kind)
	}
	object["apiVersion"], object["kind"] = e.Kind.GroupVersion().String(), e.Kind.Kind
	metadata := map[string]any{"name": probeName, "uid": string(csv.UID)}
	if e.Extent == rules.Namespaced {
		metadata["namespace"] = firstTarget(csv)
	}
	if wanted := selected(d.ObjectSelector); len(wanted) > 0 {
		metadata["labels"] = wanted
	}
	object["metadata"] = metadata
	raw, err := json.Marshal(object)
	if err != nil {
		return nil
	}
	return raw
}

// maxExamples limits the size of the annotation that is read.
const maxExamples = 256 << 10

// authorsExample returns the example of a kind in the annotation alm-examples, or nil.
func authorsExample(csv *operatorsv1alpha1.ClusterServiceVersion, kind schema.GroupVersionKind) map[string]any {
	var all []map[string]any
	if len(csv.Annotations["alm-examples"]) > maxExamples || json.Unmarshal([]byte(csv.Annotations["alm-examples"]), &all) != nil {
		return nil
	}
	return lists.First(all, func(object map[string]any) bool {
		return object["apiVersion"] == kind.GroupVersion().String() && object["kind"] == kind.Kind
	})
}

// skeleton returns a minimal object of a workload kind of Kubernetes.
func skeleton(kind schema.GroupVersionKind) map[string]any {
	labels := map[string]any{"app": probeName}
	pod := map[string]any{"containers": []any{map[string]any{"name": "probe", "image": "example.com/probe:latest", "resources": map[string]any{}}}}
	template := map[string]any{"metadata": map[string]any{"labels": labels}, "spec": pod}
	job := map[string]any{"template": template}
	switch kind.GroupKind() {
	case schema.GroupKind{Kind: "Pod"}:
		return map[string]any{"spec": pod}
	case schema.GroupKind{Group: "batch", Kind: "Job"}:
		return map[string]any{"spec": job}
	case schema.GroupKind{Group: "batch", Kind: "CronJob"}:
		return map[string]any{"spec": map[string]any{"schedule": "@yearly", "jobTemplate": map[string]any{"spec": job}}}
	}
	if kind.Group == "apps" && kind.Kind != "ControllerRevision" {
		return map[string]any{"spec": map[string]any{"replicas": 1, "selector": map[string]any{"matchLabels": labels}, "template": template}}
	}
	if kind.Group == "" {
		return map[string]any{}
	}
	return map[string]any{"spec": map[string]any{}}
}

func selected(selector *metav1.LabelSelector) map[string]string {
	if selector == nil {
		return nil
	}
	wanted := labels.Merge(selector.MatchLabels, nil)
	for _, r := range selector.MatchExpressions {
		switch {
		case r.Operator == metav1.LabelSelectorOpIn && len(r.Values) > 0:
			wanted[r.Key] = r.Values[0]
		case r.Operator == metav1.LabelSelectorOpExists:
			wanted[r.Key] = ""
		}
	}
	return wanted
}
