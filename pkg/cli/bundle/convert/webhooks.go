package convert

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/webhookconfig"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/requirements"
)

// calledService is a Service of the input, with the ports that webhooks call.
type calledService struct {
	object *bundle.Object
	typed  *corev1.Service
	called sets.Set[int32]
}

func (s *calledService) namespace() string { return s.typed.Namespace }

// port is a port of the Service that the manager creates for a Deployment.
type port struct {
	deployment string
	number     int32
}

// backend is what serves a webhook.
type backend struct {
	deployment *deployment
	port       int32
	target     intstr.IntOrString
}

// serviceReference is the part that webhooks and conversions have in common.
type serviceReference struct {
	namespace, name string
	port            int32
}

const passAll = "pass all manifests of the operator to the command"

// backendOf returns the Deployment behind a Service. It reports why there is none.
func (c *converter) backendOf(o *bundle.Object, path, lost string, ref serviceReference) (backend, bool) {
	name := strings.TrimPrefix(ref.namespace+"/"+ref.name, "/")
	fail := func(path, what, remedy string) (backend, bool) {
		c.report(Error, o, path, what+": "+lost, remedy)
		return backend{}, false
	}
	named := lists.Filter(c.services, func(s *calledService) bool { return s.typed.Name == ref.name })
	found := inNamespace(c.namespaces, named, ref.namespace, (*calledService).namespace)
	switch len(found) {
	case 0:
		return fail(path, fmt.Sprintf("the Service %s is not in the input", name), passAll)
	case 1:
	default:
		c.ambiguous(o, path, lost, lists.Map(found, func(s *calledService) *bundle.Object { return s.object }))
		return backend{}, false
	}
	service := found[0]
	i := slices.IndexFunc(service.typed.Spec.Ports, func(p corev1.ServicePort) bool { return p.Port == ref.port })
	if i < 0 {
		return fail(path+".port", fmt.Sprintf("the Service %s has no port %d", name, ref.port), "correct the port of the webhook or of the Service")
	}
	selected := c.selectedBy(service.typed)
	switch len(selected) {
	case 0:
		return fail(path, fmt.Sprintf("the Service %s selects no Deployment of the input", name), "correct spec.selector of the Service, or "+passAll)
	case 1:
	default:
		names := lists.Map(selected, func(d *deployment) string { return d.typed.Name })
		return fail(path, fmt.Sprintf("the Service %s selects several Deployments (%s), and a webhook of a bundle has one", name, strings.Join(names, ", ")),
			"give the pods of the webhook a label of their own, and select it in the Service")
	}
	d := selected[0]
	d.called = true
	service.called.Insert(ref.port)
	return backend{d, ref.port, targetOf(service.typed.Spec.Ports[i], d.pod())}, true
}

func (c *converter) selectedBy(service *corev1.Service) []*deployment {
	if len(service.Spec.Selector) == 0 {
		return nil
	}
	selector := labels.SelectorFromSet(service.Spec.Selector)
	matched := lists.Filter(c.deployments, func(d *deployment) bool { return selector.Matches(labels.Set(d.typed.Spec.Template.Labels)) })
	return inNamespace(c.namespaces, matched, service.Namespace, (*deployment).namespace)
}

// targetOf returns the number of the port of the pods; the name if no container has a port of that name.
func targetOf(p corev1.ServicePort, pod corev1.PodSpec) intstr.IntOrString {
	if p.TargetPort.Type == intstr.Int {
		return intstr.FromInt32(cmp.Or(p.TargetPort.IntVal, p.Port))
	}
	for _, container := range pod.Containers {
		for _, declared := range container.Ports {
			if declared.Name == p.TargetPort.StrVal {
				return intstr.FromInt32(declared.ContainerPort)
			}
		}
	}
	return p.TargetPort
}

// described returns the fields of a definition that name its backend. Two targets never have one containerPort: OLM v0
// would create a Service with the same port twice.
func (c *converter) described(kind operatorsv1alpha1.WebhookAdmissionType, name string, b backend) map[string]any {
	number := b.port
	target, taken := c.ports[port{b.deployment.typed.Name, number}]
	if taken && target != b.target.String() && b.target.Type == intstr.Int {
		number = b.target.IntVal
	}
	c.ports[port{b.deployment.typed.Name, number}] = b.target.String()
	d := map[string]any{"type": string(kind), "generateName": name, "deploymentName": b.deployment.typed.Name, "containerPort": int64(number)}
	switch {
	case b.target.Type == intstr.String:
		d["targetPort"] = b.target.StrVal
	case b.target.IntVal != number:
		d["targetPort"] = int64(b.target.IntVal)
	}
	return d
}

// webhooks converts webhook configurations.
type webhooks struct{ *converter }

func (c *webhooks) convert() {
	c.injected = sets.New[string]()
	for _, o := range c.objects {
		kind := operatorsv1alpha1.ValidatingAdmissionWebhook
		switch o.Typed.(type) {
		case *admissionregistrationv1.ValidatingWebhookConfiguration:
		case *admissionregistrationv1.MutatingWebhookConfiguration:
			kind = operatorsv1alpha1.MutatingAdmissionWebhook
		default:
			continue
		}
		c.handled[o] = true
		c.noteInjection(o)
		c.convertConfiguration(o, kind)
		c.checkMetadata(o)
	}
}

// checkMetadata reports labels and annotations of a webhook configuration: the manager creates another one.
func (c *webhooks) checkMetadata(o *bundle.Object) {
	report := func(field string, lost []string) {
		if len(lost) > 0 {
			c.report(Warning, o, field, "the manager creates the webhook configuration without them: the bundle lacks "+strings.Join(lost, ", "),
				"if a program of the cluster reads them, such as the admission controller of a provider, document that the webhooks do not have them")
		}
	}
	report("metadata.labels", keysWithout(withoutTools(o.GetLabels()), recommendedPrefix))
	report("metadata.annotations", keysWithout(withoutTools(o.GetAnnotations()), serviceCA...))
}

// recommendedPrefix begins the labels by which people find objects.
const recommendedPrefix = "app.kubernetes.io/"

// keysWithout returns the sorted keys that have none of the prefixes.
func keysWithout(pairs map[string]string, prefixes ...string) []string {
	return lists.Filter(slices.Sorted(maps.Keys(pairs)), func(key string) bool {
		return !slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(key, prefix) })
	})
}

func (c *converter) checkPath(o *bundle.Object, field, path string) {
	if !webhookconfig.ValidPath(path) {
		c.report(Error, o, field, fmt.Sprintf("the API server refuses the path %q, so the manager cannot register the webhook", path), "use a path without a query that begins with a slash, and separate names by one slash each")
	}
}

const (
	injectAnnotation = "cert-manager.io/inject-ca-from"
	// injectPrefix begins all annotations by which cert-manager injects a CA.
	injectPrefix = "cert-manager.io/inject-"
)

// noteInjection records the Certificate whose CA is injected into an object.
func (c *converter) noteInjection(o *bundle.Object) {
	if from := o.GetAnnotations()[injectAnnotation]; from != "" {
		c.injected.Insert(from)
	}
}

func injects(o *bundle.Object) bool {
	for key := range o.GetAnnotations() {
		if strings.HasPrefix(key, injectPrefix) {
			return true
		}
	}
	return false
}

func (c *webhooks) convertConfiguration(o *bundle.Object, kind operatorsv1alpha1.WebhookAdmissionType) {
	written, _, _ := unstructured.NestedSlice(o.Object, "webhooks")
	bundled := false
	for i, w := range webhookconfig.Webhooks(o.Typed) {
		fields, _ := written[i].(map[string]any)
		c.convertWebhook(o, fmt.Sprintf("webhooks[%d]", i), kind, w, fields)
		bundled = bundled || hasCABundle(w.ClientConfig.CABundle)
	}
	if bundled && !injects(o) {
		c.report(Note, o, "webhooks[*].clientConfig.caBundle", "the caBundle is not in the bundle: the manager creates the certificate and the caBundle",
			"remove the program or the Secret that created the certificate, if it is only for these webhooks")
	}
}

// hasCABundle ignores the line end that generators write for cert-manager to replace.
func hasCABundle(bundle []byte) bool { return strings.TrimSpace(string(bundle)) != "" }

// copied are the fields that webhooks and definitions have in common.
var copied = []string{"admissionReviewVersions", "failurePolicy", "matchPolicy", "objectSelector", "reinvocationPolicy", "rules", "sideEffects", "timeoutSeconds"}

const lostWebhook = "the webhook is not in the bundle"

func (c *webhooks) convertWebhook(o *bundle.Object, path string, kind operatorsv1alpha1.WebhookAdmissionType, w admissionregistrationv1.ValidatingWebhook, written map[string]any) {
	service := w.ClientConfig.Service
	if service == nil {
		c.report(Error, o, path+".clientConfig.url", fmt.Sprintf("webhook %s is called by a URL: %s", w.Name, lostWebhook),
			"let a Deployment of the operator serve the webhook, behind a Service; or let administrators apply the configuration")
		return
	}
	b, found := c.backendOf(o, path+".clientConfig.service", lostWebhook, serviceReference{service.Namespace, service.Name, ptr.Deref(service.Port, 443)})
	if !found {
		return
	}
	d := c.described(kind, c.generateName(o, path+".name", w.Name), b)
	for _, field := range copied {
		if value, has := written[field]; has && !isEmpty(value) {
			d[field] = value
		}
	}
	if service.Path != nil {
		d["webhookPath"] = *service.Path
		c.checkPath(o, path+".clientConfig.service.path", *service.Path)
	}
	c.webhooks = append(c.webhooks, d)
	c.convertConditions(o, path, d["generateName"].(string), written)
	c.checkSelector(o, path, w.NamespaceSelector)
	for i, rule := range w.Rules {
		if message, remedy := requirements.Forbidden(rule); message != "" {
			c.report(Error, o, fmt.Sprintf("%s.rules[%d]", path, i), "the manager and OLM v0 do not install the bundle: "+message, remedy)
		}
	}
}

func isEmpty(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	default:
		return false
	}
}

// generateName returns a name that no other webhook of the bundle has.
func (c *converter) generateName(o *bundle.Object, path, name string) string {
	unique := name
	for c.generateNames[unique] > 0 {
		c.generateNames[name]++
		first, rest, _ := strings.Cut(name, ".")
		unique = fmt.Sprintf("%s-%d.%s", first, c.generateNames[name], rest)
	}
	c.generateNames[unique] = 1
	if unique != name {
		c.report(Warning, o, path, fmt.Sprintf("another webhook has the name %s: in the bundle, this webhook has the name %s", name, unique), "give each webhook a name of its own, among webhooks of all types")
	}
	return unique
}

func (c *webhooks) convertConditions(o *bundle.Object, path, name string, written map[string]any) {
	conditions, _ := written["matchConditions"].([]any)
	if len(conditions) == 0 {
		return
	}
	c.conditions[name] = conditions
	c.report(Note, o, path+".matchConditions", fmt.Sprintf("a webhook definition has no matchConditions: they are in the annotation %s of the ClusterServiceVersion, which OLM v0 ignores", wellknown.AnnotationMatchConditions),
		"if the bundle is also for OLM v0, check the conditions in the server of the webhook, too")
}

func (c *webhooks) checkSelector(o *bundle.Object, path string, selector *metav1.LabelSelector) {
	if selector == nil || len(selector.MatchLabels) == 0 && len(selector.MatchExpressions) == 0 {
		return
	}
	c.report(Warning, o, path+".namespaceSelector",
		fmt.Sprintf("the selector (%s) is not in the bundle: the manager selects the namespaces of the OperatorGroup. If the operator watches all namespaces, the webhook is called for all namespaces", metav1.FormatLabelSelector(selector)),
		fmt.Sprintf("select objects by an objectSelector; or add a matchCondition to the annotation %s, such as !(has(request.namespace) && request.namespace == 'kube-system'); or let administrators install the operator for some namespaces", wellknown.AnnotationMatchConditions))
}
