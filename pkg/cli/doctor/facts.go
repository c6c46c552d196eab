package doctor

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/route"
)

// Facts are what a cluster shows of its webhooks.
type Facts struct {
	Webhooks []Webhook
	Services map[types.NamespacedName]Service
	// Namespaces are the labels of all.
	Namespaces   map[string]map[string]string
	ControlPlane ControlPlane
	// Owners are the existing ClusterServiceVersions, as labels name them.
	Owners map[types.NamespacedName]bool
	NoCSVs bool
	// Answers are those of the endpoints of a webhook, by its String. Others were not asked.
	Answers map[string][]Answer
}

// ControlPlane is what is known of the objects that the control plane has to write.
type ControlPlane struct {
	// Nodes are the distinct labels of the nodes, Leases those of the Leases by Namespace.
	Nodes  []map[string]string
	Leases map[string][]map[string]string
	// Unread are the resources that may not be listed.
	Unread []string
}

// Service is what stands behind a name that webhooks call.
type Service struct {
	// By is how API servers call it; ExternalName the name that they call, if they do.
	By           route.By
	ExternalName string
	NodeLocal    bool
	// Ports has each port of the Service, and how many ready endpoints there are behind it.
	Ports map[int32]int
	// Ready counts the ready endpoints at any port, LeftOver those marked as ready whose pods are deleted.
	Ready, LeftOver int
	Owner           types.NamespacedName
	// ExternalEndpoints reports whether its endpoints are not pods that it selects: their state is not known.
	ExternalEndpoints bool
	// Labels are its own: the EndpointSlice controller copies them.
	Labels map[string]string
	// Slices are the labels of its EndpointSlices, with or without endpoints.
	Slices   []map[string]string
	Selector map[string]string
	// Pods are those of them that stay.
	Pods []Pod
	// Templates are the labels of the pods that a controller would create.
	Templates []map[string]string
	// Unread are Pods and the kinds of objects that make them, as far as they may not be read in its namespace.
	Unread []string
}

// Pods is the resource of pods, in Unread.
const Pods = "pods"

// PodsUnread reports whether it is not known which pods the Service selects.
func (s Service) PodsUnread() bool { return slices.Contains(s.Unread, Pods) }

// Answer is the result of dialling one endpoint. The zero value is an endpoint that was not asked.
type Answer struct {
	Endpoint string
	// Asked reports whether the endpoint was dialled. Otherwise Message is the cause.
	Asked bool
	// Reason and Message are empty when it serves with a trusted certificate.
	Reason, Message string
	// Certificate and CA are the hex SHA-256 of the served certificate and of the CA that verifies it; empty if not known.
	Certificate, CA string
	// NotBefore and NotAfter are the validity of the served certificate; zero if not known.
	NotBefore, NotAfter time.Time
}

// Pod is one that a Service selects, and its progress.
type Pod struct {
	Labels map[string]string
	// Placed reports whether it has a node, Started whether its volumes and token are mounted, Ready its condition.
	Placed, Started, Ready bool
}

// LivePods are the pods that are not replaced: neither being deleted nor ended.
func LivePods(pods []corev1.Pod) []Pod {
	return lists.FilterMap(pods, func(p corev1.Pod) (Pod, bool) {
		pod := Pod{Labels: p.Labels, Placed: p.Spec.NodeName != "", Started: started(p), Ready: is(p, corev1.PodReady, corev1.ConditionTrue)}
		return pod, p.DeletionTimestamp == nil && !ended(p)
	})
}

// LeftOver reports whether the pod behind an endpoint is deleted or ended: a webhook may refuse writes of endpoints.
func LeftOver(of *corev1.ObjectReference, pods []corev1.Pod) bool {
	return of != nil && of.Kind == "Pod" && !slices.ContainsFunc(pods, func(p corev1.Pod) bool {
		return p.Name == of.Name && (of.UID == "" || p.UID == of.UID) && !ended(p)
	})
}

func ended(p corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

// started asks the phase where the kubelet does not report the condition.
func started(p corev1.Pod) bool {
	return is(p, corev1.PodReadyToStartContainers, corev1.ConditionTrue) ||
		p.Status.Phase == corev1.PodRunning && !is(p, corev1.PodReadyToStartContainers, corev1.ConditionFalse)
}

func is(p corev1.Pod, condition corev1.PodConditionType, status corev1.ConditionStatus) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == condition && c.Status == status })
}

// Workloads are the objects of a namespace that have pods made.
type Workloads struct {
	ReplicaSets  appsv1.ReplicaSetList
	Deployments  appsv1.DeploymentList
	StatefulSets appsv1.StatefulSetList
	DaemonSets   appsv1.DaemonSetList
}

// Templates are the labels of the selected pods that would be created if there were too few. The pods of a Deployment
// come from its ReplicaSets, which may be older than its own template. The template counts if none has replicas.
func (w Workloads) Templates(selector map[string]string) []map[string]string {
	var all []map[string]string
	made := map[types.UID]bool{}
	for _, r := range w.ReplicaSets.Items {
		if r.Spec.Replicas != nil && *r.Spec.Replicas == 0 {
			continue
		}
		all = append(all, r.Spec.Template.Labels)
		if owner := metav1.GetControllerOf(&r); owner != nil {
			made[owner.UID] = true
		}
	}
	for _, d := range w.Deployments.Items {
		if !made[d.UID] {
			all = append(all, d.Spec.Template.Labels)
		}
	}
	for _, s := range w.StatefulSets.Items {
		all = append(all, s.Spec.Template.Labels)
	}
	for _, d := range w.DaemonSets.Items {
		all = append(all, d.Spec.Template.Labels)
	}
	selected := labels.SelectorFromSet(selector)
	return slices.DeleteFunc(all, func(l map[string]string) bool { return !selected.Matches(labels.Set(l)) })
}
