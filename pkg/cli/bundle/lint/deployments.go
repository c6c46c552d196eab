package lint

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/groupkind"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
)

var backendChecks = []Check{
	{
		Code: "unknown-deployment", Level: Error, Basis: Refused,
		Explain: `deploymentName names the Deployment in spec.install.spec.deployments that
serves the webhook. If there is none of that name, OLM v0 registers the webhook with an empty
caBundle and a Service that does not exist, and every call fails. The manager leaves the
ClusterServiceVersion Pending/RequirementsNotMet and registers nothing. It does the same for two
Deployments with one name, which OLM v0 overwrites in a loop.`,
		find: func(s *subject) {
			unmet(s, "Deployment", func(name string) (path, remedy string) {
				if csvspec.HasDeployment(s.CSV, name) {
					return "spec.install.spec.deployments", "give each Deployment a name of its own"
				}
				for _, w := range s.webhooks() {
					if w.DeploymentName == name {
						return w.path + ".deploymentName", "name one of spec.install.spec.deployments"
					}
				}
				return "", ""
			})
		},
	},
	{
		Code: "selector-mismatch", Level: Error, Basis: Rejected,
		Explain: `The selector of a Deployment has to match the labels of its pod template.
Otherwise the API server refuses it, and the ClusterServiceVersion fails with
InstallComponentFailed.`,
		find: eachDeployment(func(_ *subject, d deployment, report reporter) {
			selector, err := metav1.LabelSelectorAsSelector(d.Spec.Selector)
			if err != nil || selector.Empty() || !selector.Matches(labels.Set(d.Spec.Template.Labels)) {
				report("spec.selector", fmt.Sprintf("the API server refuses the Deployment %s: its selector does not match the labels of its pods", d.Name), "give selector.matchLabels and template.metadata.labels the same labels")
			}
		}),
	},
	{
		Code: "pod-invalid", Level: Error, Basis: Rejected,
		Explain: `The API server refuses a Deployment whose pods have two volumes or two
containers with the same name (init containers included), a mount of a missing volume, or two mounts
at one path. The ClusterServiceVersion fails with InstallComponentFailed. Certificates that are
mounted at the default paths of the libraries are not checked: this manager and OLM v0 replace them.`,
		find: eachDeployment(invalidPods),
	},
	{
		Code: "no-replicas", Level: Error, Basis: Broken,
		Explain: `A Deployment with replicas: 0 has no pods, so its webhooks and APIs are
never reachable. The manager does not register them, and the ClusterServiceVersion stays Installing
until an administrator scales the Deployment. OLM v0 registers them, and every call fails.`,
		find: eachDeployment(func(s *subject, d deployment, report reporter) {
			if s.serving[d.Name] && d.Spec.Replicas != nil && *d.Spec.Replicas == 0 {
				report("spec.replicas", fmt.Sprintf("what %s serves is never reachable: it has no replicas", d.Name), "write replicas: 2")
			}
		}),
	},
	{
		Code: "missing-service-account", Level: Error, Basis: Broken,
		Explain: `The pods use a ServiceAccount that neither permissions nor
clusterPermissions name, and that the bundle does not contain. It does not exist, and the API server
refuses every pod with "service account not found".`,
		find: eachDeployment(func(s *subject, d deployment, report reporter) {
			name := d.Spec.Template.Spec.ServiceAccountName
			if name != "" && name != "default" && s.accounts[name] == nil {
				report("spec.template.spec.serviceAccountName", fmt.Sprintf("no pod of the Deployment %s is ever created: no object creates the ServiceAccount %s", d.Name, name), "name it in permissions or clusterPermissions")
			}
		}),
	},
	{
		Code: "unnamed-port", Level: Error, Basis: Broken,
		Explain: `targetPort is the name of a port that no container of the Deployment has.
The Service gets no endpoint with a port. The manager never registers the webhook. OLM v0 registers
it, and every call fails.`,
		find: eachBackend(func(w webhook, pod corev1.PodSpec, report reporter) {
			if w.TargetPort != nil && w.TargetPort.Type == intstr.String && w.TargetPort.StrVal != "" && !declaresPort(pod, *w.TargetPort) {
				report("targetPort", fmt.Sprintf("the webhook is never reachable: no container of %s has a port named %q", w.DeploymentName, w.TargetPort.StrVal), "name the port of the container so, or write its number")
			}
		}),
	},
	{
		Code: "undeclared-port", Level: Warning, Basis: Policy,
		Explain: `No container declares the port at which the webhook is called. A server
may listen at a port that is not declared. If the number is wrong, the webhook is never reachable,
and no other check reports that. The default of targetPort is containerPort, whose default is 443.
Declare the port in the container.`,
		find: eachBackend(func(w webhook, pod corev1.PodSpec, report reporter) {
			port := render.TargetPort(w.WebhookDescription)
			if port.Type != intstr.String && !declaresPort(pod, port) {
				report("targetPort", fmt.Sprintf("the webhook may never be reachable: no container of %s declares the port %d", w.DeploymentName, port.IntVal), "declare it in the container's ports, or correct targetPort")
			}
		}),
	},
	{
		Code: "ports-in-conflict", Level: Warning, Basis: UnderOLM,
		Explain: `Two webhooks of one Deployment have the same containerPort, which is the
port of the Service, and different targetPorts. OLM v0 creates a Service that has the port twice,
the API server refuses it, and the installation fails. This manager assigns another port to the
second webhook. Give each webhook its own containerPort.`,
		find: portsInConflict,
	},
	{
		Code: "missing-secret", Level: Warning, Basis: Broken,
		Explain: `A pod mounts a Secret or ConfigMap, or reads its environment from it. The
object is not optional, and the bundle does not contain it. The pod does not start until an
administrator creates it. Often it is the Secret of another certificate tool, such as cert-manager.
Certificates that are mounted at the default paths of the libraries
(/tmp/k8s-webhook-server/serving-certs) are not reported: the manager replaces them. Remove the
volume, set optional: true, or document that an administrator creates the object.`,
		find: missingReferences,
	},
}

func eachBackend(check func(webhook, corev1.PodSpec, reporter)) func(*subject) {
	return eachWebhook((*subject).webhooks, func(w webhook, report reporter) {
		if w.backend != nil {
			check(w, w.backend.Spec.Template.Spec, report)
		}
	})
}

func declaresPort(pod corev1.PodSpec, port intstr.IntOrString) bool {
	return slices.ContainsFunc(running(pod), func(c container) bool { return declares(c, port) })
}

func declares(c container, port intstr.IntOrString) bool {
	return slices.ContainsFunc(c.Ports, func(p corev1.ContainerPort) bool {
		return p.Name == port.StrVal && port.StrVal != "" || p.ContainerPort == port.IntVal && port.Type == intstr.Int
	})
}

func portsInConflict(s *subject) {
	type servicePort struct {
		deployment string
		port       int32
	}
	targets := map[servicePort]intstr.IntOrString{}
	for _, w := range s.webhooks() {
		key, target := servicePort{w.DeploymentName, cmp.Or(w.ContainerPort, 443)}, render.TargetPort(w.WebhookDescription)
		if first, known := targets[key]; !known {
			targets[key] = target
		} else if first != target {
			s.reportCSV(w.path+".containerPort", fmt.Sprintf("under OLM v0 the API server refuses the Service: port %d stands for two targetPorts", key.port), "give each targetPort a containerPort of its own")
		}
	}
}

// missingReferences checks the pods with the manager's certificate in place of the author's.
func missingReferences(s *subject) {
	for _, d := range s.deployments {
		var displaced []string
		if s.serving[d.Name] {
			displaced = render.DisplacedVolumes(d.Spec.Template.Spec)
		}
		eachReference(d.Spec.Template.Spec, displaced, func(field, kind, name string, optional *bool) {
			byCluster := kind == "ConfigMap" && name == "kube-root-ca.crt"
			if ptr.Deref(optional, false) || name == "" || byCluster || s.Find(schema.GroupKind{Kind: kind}, name) != nil {
				return
			}
			managers := kind == "Secret" && name == names.Secret(names.Service(d.Name)) && s.serving[d.Name]
			if what, remedy := s.missingReference(d.Name, kind, name, managers); what != "" {
				s.reportCSV(d.path+".spec.template.spec."+field, what, remedy)
			}
		})
	}
}

// missingReference returns a finding for a Secret or ConfigMap that the bundle lacks; empty if the manager creates it.
// managers is set for the name that the manager's Secret has, unless the bundle has a Service with the manager's name.
func (s *subject) missingReference(deployment, kind, name string, managers bool) (what, remedy string) {
	service := names.Service(deployment)
	switch taken := s.Find(groupkind.Service, service) != nil; {
	case managers && taken:
		return fmt.Sprintf("no pod of %s starts: no client creates the Secret %s. The bundle has a Service %s, so the manager's Service and Secret get other names", deployment, name, service),
			fmt.Sprintf("remove the reference, and read the certificate in %s; or rename the Service %s", wellknown.MountWebhookCert, service)
	case managers:
		return "", ""
	case s.serviceCA(name):
		what = fmt.Sprintf("outside OpenShift, whose service-ca creates the Secret %s, no pod of %s starts", name, deployment)
	default:
		what = fmt.Sprintf("no pod of %s starts until an administrator creates the %s %s: the bundle does not bring it", deployment, kind, name)
	}
	return what, "remove the reference, set optional: true, or add the object to the bundle"
}

// serviceCA reports whether a Service of the bundle asks OpenShift's service-ca for a Secret.
func (s *subject) serviceCA(secret string) bool {
	return slices.ContainsFunc(s.Objects, func(o *bundle.Object) bool {
		return groupkind.Is(o, groupkind.Service) && o.GetAnnotations()["service.beta.openshift.io/serving-cert-secret-name"] == secret
	})
}
