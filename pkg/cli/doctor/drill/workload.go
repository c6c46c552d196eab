package drill

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/groupkind"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor/explain"
)

// workload is an object whose pods a controller creates, or a pod without one.
type workload struct {
	Part

	owner schema.GroupKind
	// pod is the next pod, as its creator sends it. It has a name only if it is known.
	pod corev1.Pod
	by  explain.User
	// someUser reports that the creator is not known.
	someUser bool
	// static reports whether a kubelet runs the pod from a file.
	static bool
	// lost reports that no controller creates the pod again.
	lost bool
}

// workloads are the workloads with pods, in the order of their names.
func (s Snapshot) workloads() []workload {
	all := slices.Concat(s.deployments(), s.statefulSets(), s.daemonSets(), s.ownedPods())
	slices.SortFunc(all, func(a, b workload) int { return strings.Compare(a.String(), b.String()) })
	for i := range all {
		all[i].Role = roleOf(all[i])
	}
	return all
}

func roleOf(w workload) Role {
	switch {
	case w.Kind == "DaemonSet" && (w.Name == "kube-proxy" || w.pod.Labels["k8s-app"] == "kube-proxy"):
		return KubeProxy
	case w.Kind == "DaemonSet" && w.pod.Spec.HostNetwork && slices.ContainsFunc(w.pod.Spec.Volumes, isNetworkConfiguration):
		// Without hostNetwork it needs the network itself: it only adds to it.
		return Network
	case w.Namespace == metav1.NamespaceSystem && w.pod.Labels["k8s-app"] == "kube-dns":
		return DNS
	case w.pod.Labels["app.kubernetes.io/name"] == string(Manager):
		return Manager
	case w.Kind == "Deployment" && (w.Name == "olm-operator" || w.Name == "catalog-operator"):
		return OLM
	default:
		return ""
	}
}

// isNetworkConfiguration reports whether a volume is a directory in which network plugins install themselves.
func isNetworkConfiguration(v corev1.Volume) bool {
	return v.HostPath != nil && (strings.HasPrefix(v.HostPath.Path, "/etc/cni") || strings.HasPrefix(v.HostPath.Path, "/opt/cni"))
}

// The kinds of the built-in controllers of pods.
var (
	deploymentKind  = appsv1.SchemeGroupVersion.WithKind("Deployment").GroupKind()
	replicaSetKind  = appsv1.SchemeGroupVersion.WithKind("ReplicaSet").GroupKind()
	statefulSetKind = appsv1.SchemeGroupVersion.WithKind("StatefulSet").GroupKind()
	daemonSetKind   = appsv1.SchemeGroupVersion.WithKind("DaemonSet").GroupKind()
	jobKind         = batchv1.SchemeGroupVersion.WithKind("Job").GroupKind()
)

// partOf names an object that has pods. A kind of another group can have the name of a built-in kind.
func partOf(kind schema.GroupKind, namespace, name string) Part {
	text := kind.String()
	if kind.Group == appsv1.GroupName || kind == jobKind {
		text = kind.Kind
	}
	return Part{Kind: text, Namespace: namespace, Name: name}
}

// deployments are the Deployments with a ReplicaSet, or without any, and ReplicaSets without a Deployment.
func (s Snapshot) deployments() []workload {
	newest := map[Part]appsv1.ReplicaSet{}
	for _, r := range s.ReplicaSets {
		if ptr.Deref(r.Spec.Replicas, 1) == 0 {
			continue
		}
		owner := partOf(replicaSetKind, r.Namespace, r.Name)
		if by := metav1.GetControllerOf(&r); by != nil {
			owner = partOf(groupkind.OfOwner(*by), r.Namespace, by.Name)
		}
		other, exists := newest[owner]
		if !exists || other.CreationTimestamp.Before(&r.CreationTimestamp) {
			newest[owner] = r
		}
	}
	for _, d := range s.Deployments {
		owner := partOf(deploymentKind, d.Namespace, d.Name)
		if _, exists := newest[owner]; !exists && ptr.Deref(d.Spec.Replicas, 1) > 0 {
			newest[owner] = appsv1.ReplicaSet{
				ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: d.Name + "-" + suffix},
				Spec:       appsv1.ReplicaSetSpec{Template: d.Spec.Template},
			}
		}
	}
	var all []workload
	for owner, r := range newest {
		all = append(all, workload{Part: owner, owner: replicaSetKind, pod: podOf(r.Spec.Template, replicaSetKind, &r.ObjectMeta), by: s.controller("replicaset-controller")})
	}
	return all
}

func (s Snapshot) statefulSets() []workload {
	var all []workload
	for _, set := range s.StatefulSets {
		if ptr.Deref(set.Spec.Replicas, 1) == 0 {
			continue
		}
		pod := podOf(set.Spec.Template, statefulSetKind, &set.ObjectMeta)
		pod.GenerateName, pod.Name = "", set.Name+"-0"
		pod.Labels[appsv1.StatefulSetPodNameLabel], pod.Labels[appsv1.PodIndexLabel] = pod.Name, "0"
		pod.Labels[appsv1.StatefulSetRevisionLabel] = set.Status.UpdateRevision
		all = append(all, workload{
			Part: partOf(statefulSetKind, set.Namespace, set.Name), owner: statefulSetKind,
			pod: pod, by: s.controller("statefulset-controller"),
		})
	}
	return all
}

func (s Snapshot) daemonSets() []workload {
	var all []workload
	for _, set := range s.DaemonSets {
		all = append(all, workload{
			Part: partOf(daemonSetKind, set.Namespace, set.Name), owner: daemonSetKind,
			pod: podOf(set.Spec.Template, daemonSetKind, &set.ObjectMeta), by: s.controller("daemon-set-controller"),
		})
	}
	return all
}

// ownedPods are the pods of other owners, one for each owner, and those without one.
func (s Snapshot) ownedPods() []workload {
	var all []workload
	seen := map[string]bool{}
	for _, p := range s.Pods {
		owner := metav1.GetControllerOf(&p)
		if p.DeletionTimestamp != nil || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
			continue
		}
		w, relevant := s.ofPod(p, owner)
		if relevant && !seen[w.String()] {
			seen[w.String()] = true
			all = append(all, w)
		}
	}
	return all
}

func (s Snapshot) ofPod(p corev1.Pod, owner *metav1.OwnerReference) (workload, bool) {
	node := p.Spec.NodeName
	next := corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: p.Namespace, Name: p.Name, Labels: p.Labels, Annotations: p.Annotations, OwnerReferences: p.OwnerReferences,
	}, Spec: p.Spec}
	next.Spec.NodeName = ""
	own := Part{Kind: "Pod", Namespace: p.Namespace, Name: p.Name}
	if p.Annotations[corev1.MirrorPodAnnotationKey] != "" {
		next.Spec.NodeName = node
		return workload{Part: own, pod: next, by: kubelet(node), static: true}, true
	}
	if owner == nil {
		return workload{Part: own, pod: next, lost: true}, true
	}
	kind := groupkind.OfOwner(*owner)
	if kind.Group == appsv1.GroupName {
		return workload{}, false
	}
	w := workload{Part: partOf(kind, p.Namespace, owner.Name), owner: kind, pod: next}
	if kind == jobKind {
		w.by = s.controller("job-controller")
		return w, true
	}
	w.by, w.someUser = explain.Impersonated("system:serviceaccount:"+p.Namespace+":unknown", nil), true
	return w, true
}

// podOf returns the pod that a controller creates from a template.
func podOf(template corev1.PodTemplateSpec, kind schema.GroupKind, owner *metav1.ObjectMeta) corev1.Pod {
	yes := true
	labels := maps.Clone(template.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	pod := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: owner.Name + "-", Namespace: owner.Namespace, Labels: labels, Annotations: template.Annotations,
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: appsv1.SchemeGroupVersion.String(), Kind: kind.Kind, Name: owner.Name, UID: owner.UID, Controller: &yes, BlockOwnerDeletion: &yes,
			}},
		},
		Spec: template.Spec,
	}
	pod.Spec.ServiceAccountName = cmp.Or(pod.Spec.ServiceAccountName, "default")
	return pod
}

// requests are the requests that a pod needs to become ready.
func (s Snapshot) requests(w workload, node string) []request {
	create := creating(pods, &w.pod, w.by)
	create.someUser = w.someUser
	stored := w.pod.DeepCopy()
	stored.Name, stored.UID = cmp.Or(w.pod.Name, w.pod.GenerateName+suffix), "00000000-0000-0000-0000-000000000000"
	all := []request{create}
	if !w.static {
		binding := &corev1.Binding{
			ObjectMeta: metav1.ObjectMeta{Namespace: stored.Namespace, Name: stored.Name, UID: stored.UID},
			Target:     corev1.ObjectReference{Kind: "Node", Name: node},
		}
		all = append(all, creating(bindings, binding, scheduler))
		all = append(all, s.usage(w.Namespace)...)
		if s.mountsToken(w.pod) {
			all = append(all, tokenFor(w.Namespace, w.pod.Spec.ServiceAccountName, kubelet(node)))
		}
		stored.Spec.NodeName = node
	}
	stored.Status.Phase = corev1.PodPending
	ready := stored.DeepCopy()
	ready.Status = corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{
		{Type: corev1.ContainersReady, Status: corev1.ConditionTrue}, {Type: corev1.PodReady, Status: corev1.ConditionTrue},
	}}
	return append(all, updating(podStatus, stored, ready, kubelet(cmp.Or(stored.Spec.NodeName, node))))
}

// mountsToken reports whether the kubelet requests a token of the ServiceAccount.
func (s Snapshot) mountsToken(p corev1.Pod) bool {
	if slices.ContainsFunc(p.Spec.Volumes, projectsToken) {
		return true
	}
	if p.Spec.AutomountServiceAccountToken != nil {
		return *p.Spec.AutomountServiceAccountToken
	}
	i := slices.IndexFunc(s.Accounts, func(a corev1.ServiceAccount) bool {
		return a.Namespace == p.Namespace && a.Name == p.Spec.ServiceAccountName
	})
	return i < 0 || ptr.Deref(s.Accounts[i].AutomountServiceAccountToken, true)
}

func projectsToken(v corev1.Volume) bool {
	return v.Projected != nil && slices.ContainsFunc(v.Projected.Sources, func(p corev1.VolumeProjection) bool { return p.ServiceAccountToken != nil })
}

// usage are the requests by which the API server counts a new pod for the quotas of its Namespace.
func (s Snapshot) usage(namespace string) []request {
	var all []request
	for _, q := range s.Quotas {
		if q.Namespace == namespace && len(q.Spec.Scopes) == 0 && q.Spec.ScopeSelector == nil && countsPods(q) {
			all = append(all, updating(quotaStatus, &q, q.DeepCopy(), apiServer))
		}
	}
	return all
}

// countedOfPods are the resources of a quota that a new pod uses.
var countedOfPods = []corev1.ResourceName{
	corev1.ResourcePods, "count/pods", corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceRequestsCPU, corev1.ResourceRequestsMemory,
	corev1.ResourceLimitsCPU, corev1.ResourceLimitsMemory,
}

func countsPods(q corev1.ResourceQuota) bool {
	return slices.ContainsFunc(countedOfPods, func(name corev1.ResourceName) bool { _, counted := q.Spec.Hard[name]; return counted })
}
