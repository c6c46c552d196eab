package convert

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/groupkind"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
)

// convertServices leaves out the ports that webhooks call, and the Services that have no others.
func (c *converter) convertServices() {
	for _, s := range c.services {
		if s.called.Len() == 0 {
			continue
		}
		c.handled[s.object] = true
		kept := s.object.DeepCopy()
		ports, _, _ := unstructured.NestedSlice(kept.Object, "spec", "ports")
		others := lists.Map(lists.Filter(s.typed.Spec.Ports, func(p corev1.ServicePort) bool { return !s.called.Has(p.Port) }), func(p corev1.ServicePort) string { return strconv.Itoa(int(p.Port)) })
		if len(others) == 0 {
			c.checkLeftOut(s.object)
			continue
		}
		left := lists.FilterMap(ports, func(p any) (any, bool) {
			fields, _ := p.(map[string]any)
			number, _ := fields["port"].(int64)
			return p, !s.called.Has(int32(number))
		})
		kept.Object["spec"].(map[string]any)["ports"] = left
		c.keep(s.object, kept)
		c.report(Note, s.object, "spec.ports", fmt.Sprintf("the manager creates a Service for the ports that webhooks call. The Service in the bundle has the other ports: %s", strings.Join(others, ", ")), "check that no client calls a webhook port of this Service")
	}
}

// serviceCA begins the annotations by which service-ca of OpenShift creates certificates.
var serviceCA = []string{"service.alpha.openshift.io/", "service.beta.openshift.io/"}

// checkLeftOut reports annotations of a Service that the manager replaces.
func (c *converter) checkLeftOut(o *bundle.Object) {
	if lost := keysWithout(withoutTools(o.GetAnnotations()), serviceCA...); len(lost) > 0 {
		c.report(Warning, o, "metadata.annotations", "the manager creates the Service of the webhook without them: the bundle lacks "+strings.Join(lost, ", "),
			"if a program reads them, give it a Service of its own, without the port of the webhook")
	}
}

// workloads are the kinds that run pods, each with how an operator gets by without it. OLM installs Deployments only.
var workloads = map[schema.GroupKind]string{
	{Group: "apps", Kind: "StatefulSet"}:      "if the pods need no volume and no name of their own, use a Deployment: write kind: Deployment, remove spec.serviceName and spec.volumeClaimTemplates, and convert again" + otherwise,
	{Group: "apps", Kind: "DaemonSet"}:        asDaemon,
	{Group: "apps", Kind: "ReplicaSet"}:       asDeployment,
	{Kind: "ReplicationController"}:           asDeployment,
	{Kind: "Pod"}:                             asDeployment,
	{Group: "extensions", Kind: "ReplicaSet"}: asDeployment,
	{Group: "extensions", Kind: "DaemonSet"}:  asDaemon,
	{Group: "batch", Kind: "Job"}:             atStart,
	{Group: "batch", Kind: "CronJob"}:         atStart,
}

const (
	otherwise    = "; or let the operator create the object when it starts, and request the permission in clusterPermissions"
	asDaemon     = "if the program need not run on each node, use a Deployment, and convert again" + otherwise
	asDeployment = "write the pods as a Deployment, and convert again"
	asCurrent    = "write it with apiVersion apps/v1 and spec.selector, and convert again"
	atStart      = "let the operator do the work when it starts" + otherwise
)

// isDeployment reports whether an object is a Deployment of Kubernetes, in any version.
func isDeployment(o *bundle.Object) bool {
	kind := groupkind.Of(o)
	return kind.Kind == "Deployment" && (kind.Group == "apps" || kind.Group == "extensions")
}

// hasPods reports whether an object runs pods: Kubernetes or another operator creates them from a template.
func hasPods(o *bundle.Object) bool {
	containers, _, _ := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
	return workloads[groupkind.Of(o)] != "" || len(containers) > 0
}

var apiService = schema.GroupKind{Group: apiregistrationv1.GroupName, Kind: "APIService"}

// convertOthers adds the objects that stay as they are, if a bundle may have their kind.
func (c *converter) convertOthers() {
	for _, o := range c.objects {
		if c.handled[o] {
			continue
		}
		kind := groupkind.Of(o)
		refusals := (&bundle.Bundle{Objects: []*bundle.Object{o}}).Refusals(nil)
		switch {
		case kind == groupkind.Namespace:
			c.convertNamespace(o)
		case c.owns(o):
			c.addExample(o)
		case kind == groupkind.ClusterServiceVersion:
			c.report(Error, o, "kind", "the input has a ClusterServiceVersion, and the command writes one: this one is not in the bundle", "if the input is a bundle, check it with bundle validate; otherwise remove the object")
		case len(refusals) > 0 && isDeployment(o):
			c.report(Error, o, "apiVersion", fmt.Sprintf("a bundle has Deployments of apps/v1 only, and this one has %s: the object is not in the bundle, and nothing runs its pods", o.GetAPIVersion()), asCurrent)
		case len(refusals) > 0 && hasPods(o):
			c.report(Error, o, "kind", "a bundle installs Deployments only: the object is not in the bundle, and nothing runs its pods", cmp.Or(workloads[kind], asDeployment))
		case kind == apiService:
			path, what, remedy := apiServiceFinding(o)
			c.report(Error, o, path, what, remedy)
		case len(refusals) > 0 && refusals[0].Path == "apiVersion":
			c.report(Error, o, "apiVersion", refusals[0].What+": the object is not in the bundle", refusals[0].Remedy)
		case len(refusals) > 0:
			c.report(Warning, o, refusals[0].Path, refusals[0].What+": the object is not in the bundle", "let the operator create the object, or document that an administrator applies it")
		default:
			c.keepOther(o)
		}
	}
}

// apiServiceFinding returns the field, the fact and the next step for an APIService. A ClusterServiceVersion declares it
// in another form, with names that the object does not have: the kinds of the API.
func apiServiceFinding(o *bundle.Object) (path, what, remedy string) {
	group, _, _ := unstructured.NestedString(o.Object, "spec", "group")
	version, _, _ := unstructured.NestedString(o.Object, "spec", "version")
	service, _, _ := unstructured.NestedString(o.Object, "spec", "service", "name")
	if service == "" {
		return "spec.service", "the APIService calls no Service, and a bundle can only have an APIService whose API a Deployment serves: the object is not in the bundle",
			"if the API belongs to a CustomResourceDefinition, remove the object: API servers create it. Otherwise serve the API by a Deployment, behind a Service"
	}
	return "kind", fmt.Sprintf("a bundle declares an APIService in the ClusterServiceVersion, with the kinds of the API, which the object does not name: the bundle lacks the API %s/%s", group, version),
		fmt.Sprintf("add an entry for each kind to spec.apiservicedefinitions.owned of the ClusterServiceVersion: {group: %s, version: %s, kind: KIND, name: PLURAL, deploymentName: DEPLOYMENT, containerPort: PORT}, with the Deployment behind the Service %s. The manager creates the Service, the certificate and the APIService", group, version, service)
}

func (c *converter) keepOther(o *bundle.Object) {
	if !c.own(o.GetNamespace()) {
		c.report(Warning, o, "metadata.namespace", fmt.Sprintf("an installation creates the object in the operator's namespace, and not in %s", o.GetNamespace()), "check that the object works there; otherwise remove it from manifests/, and document that an administrator applies it")
	}
	if secret, is := o.Typed.(*corev1.Secret); is && len(secret.Data)+len(secret.StringData) > 0 {
		c.report(Warning, o, "data", "the bundle has the content of the Secret: every client that reads the bundle reads it", "if the content is secret, remove the object from manifests/, and document that an administrator creates it")
	}
	c.checkNamespace(o, o.Object["spec"], "spec")
	c.checkNamespace(o, o.Object["data"], "data")
	c.keep(o, o.Unstructured)
}

// convertNamespace suggests the operator's namespace with its labels and annotations.
func (c *converter) convertNamespace(o *bundle.Object) {
	if !c.homes.Has(o.GetName()) {
		c.report(Warning, o, "kind", "the Namespace is not in the bundle: an installation creates the operator's namespace only", "document that an administrator creates the Namespace")
		return
	}
	metadata := map[string]any{"name": o.GetName()}
	labels := withoutTools(o.GetLabels())
	maps.DeleteFunc(labels, func(key, _ string) bool { return key == corev1.LabelMetadataName })
	if len(labels) > 0 {
		metadata["labels"] = texts(labels)
	}
	if annotations := withoutTools(o.GetAnnotations()); len(annotations) > 0 {
		metadata["annotations"] = texts(annotations)
	}
	c.namespace = map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
}

// addExample lists an object of an owned kind as an example.
func (c *converter) addExample(o *bundle.Object) {
	example := o.DeepCopy()
	unstructured.RemoveNestedField(example.Object, "status")
	example.SetNamespace("")
	example.SetLabels(withoutTools(example.GetLabels()))
	example.SetAnnotations(withoutTools(example.GetAnnotations()))
	c.examples = append(c.examples, example.Object)
	c.report(Note, o, "kind", "the object is an example in the annotation alm-examples: an installation does not create it", "if the operator needs the object, let it create the object when it starts")
}

// checkNamespace reports a value that names the operator's namespace: an administrator can choose another one.
func (c *converter) checkNamespace(o *bundle.Object, value any, at string) {
	home := c.home()
	if home == "" || home == metav1.NamespaceDefault || bundle.BelongsToKubernetes(home) {
		return
	}
	name := regexp.MustCompile(`(^|[^a-z0-9-])` + regexp.QuoteMeta(home) + `($|[^a-z0-9-])`)
	// Other objects often have the name of the namespace, too.
	isNamespace := regexp.MustCompile(`(?i)namespace|\.matchNames|\.` + regexp.QuoteMeta(home) + `($|[^a-z0-9-])`)
	names := func(field, text string) bool {
		return name.MatchString(text) && isNamespace.MatchString(field+"="+text)
	}
	if field := find(value, at, names); field != "" {
		c.report(Note, o, field, fmt.Sprintf("the value names the namespace %s, and an administrator can choose another one", home), "read the namespace from the field metadata.namespace of the pod, if it is for a program; otherwise document that the operator needs this namespace")
	}
}

// find returns the path of the first text that matches, with its path; empty for none. A variable is one text with its name.
func find(value any, at string, matches func(field, text string) bool) string {
	switch v := value.(type) {
	case string:
		if matches(at, v) {
			return at
		}
	case map[string]any:
		name, named := v["name"].(string)
		text, is := v["value"].(string)
		if named && is && matches(at, name+"="+text) {
			return at + ".value"
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if field := find(v[key], at+"."+key, matches); field != "" {
				return field
			}
		}
	case []any:
		for i, item := range v {
			if field := find(item, fmt.Sprintf("%s[%d]", at, i), matches); field != "" {
				return field
			}
		}
	}
	return ""
}
