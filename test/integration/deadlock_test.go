package integration

import (
	"context"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

const (
	controllers = "system:serviceaccount:kube-system:"
	notAnswered = "failed calling webhook"
)

// attempt is a request that a client makes while a webhook that intercepts it, with
// failurePolicy Fail, has no endpoint.
type attempt struct {
	user   string
	groups []string
	do     func(context.Context, kubernetes.Interface) error
	passes bool
}

// On the real API server, what brings the operator's own pods back passes its dead
// webhook by. What a tenant does is refused, independent of the labels and owners that it copies.
func TestSelfDeadlock(t *testing.T) {
	e := newOwnNamespaceEnv(t)
	m := e.manage()
	e.install(interceptor())
	m.emits("Normal WebhookIntercepts webhook v.example.com intercepts every operation of pods, pods/status, ")
	m.emits("Normal SelfDeadlockPrevented webhook v.example.com could not become available again while no endpoint answers it: requests of the cluster's own components about its own pods, ")
	installtest.Among(t, webhookStatus(e, "operator.v1", "v.example.com").Exempt, "its own pods")

	standing := ownPod(e, "server-6d4cf56db6")
	standing.Name = "server-6d4cf56db6-x7k2p"
	knows(e, attempt{user: "tenant", do: lease(e.namespace)})
	as(e, attempt{user: controllers + "replicaset-controller", passes: true, do: creating(standing)})
	attempts := attempts(e, standing)
	for name, a := range attempts {
		e.Run(name, func(t *testing.T) { as(sub(t, e), a) })
	}

	// The manager can still repair what the webhook needs.
	m.looksAfter(func() {
		e.must(e.kube.CoreV1().Services(e.namespace).Delete(e.ctx, "server-service", metav1.DeleteOptions{}))
	})
	awaitObject(e, e.kube.CoreV1().Services(e.namespace), "server-service")

	// Nor does it keep it from repairing what it has no other name for than the operator's.
	roles := e.kube.RbacV1().Roles(e.namespace)
	m.looksAfter(func() { e.must(roles.Delete(e.ctx, "operator.v1", metav1.DeleteOptions{})) })
	awaitObject(e, roles, "operator.v1")
	as(e, attempt{user: "tenant", do: func(ctx context.Context, client kubernetes.Interface) error {
		return client.RbacV1().Roles(e.namespace).Delete(ctx, "operator.v1", metav1.DeleteOptions{})
	}})

	// It is the conditions that let them pass: without, as OLM v0 has it, none gets through.
	m.stop()
	withoutConditions(e, "v.example.com", attempt{user: controllers + "replicaset-controller", do: creating(ownPod(e, "server-6d4cf56db6"))})
	for name, a := range attempts {
		if a.passes {
			a.passes = false
			e.Run("without conditions, "+name, func(t *testing.T) { as(sub(t, e), a) })
		}
	}
}

// An operator whose webhook is on Deployments returns when all of them no longer exist, one that
// serves no webhook first, and when only the manager knows what has to pass the webhook by.
func TestSelfDeadlockOfDeployments(t *testing.T) {
	e := newOwnNamespaceEnv(t)
	c := csv("operator.v1", "plain", "server")
	w := &c.Spec.WebhookDefinitions[0]
	w.DeploymentName, w.TimeoutSeconds = "server", new(int32(1))
	w.Rules = []admissionregistrationv1.RuleWithOperations{rule([]string{"apps"}, "deployments", "replicasets")}
	deployments := e.kube.AppsV1().Deployments(e.namespace)
	allGone := func() {
		for _, name := range []string{"plain", "server"} {
			e.must(deployments.Delete(e.ctx, name, metav1.DeleteOptions{}))
		}
	}
	allBack := func() {
		e.Helper()
		for _, name := range []string{"plain", "server"} {
			e.eventually("deployment "+name+" is back", func() (bool, any) {
				return e.deployment(name) != nil, e.rollout(c.Name).Deployments
			})
		}
		e.succeeds(c.Name)
	}
	m := e.manage()
	e.install(c)
	m.stop()
	knows(e, attempt{user: "tenant", do: replicaSet(e.namespace, "plain")})

	allGone()
	m = e.manage()
	allBack()

	// As a manager registered it that did not know: the reconciliation continues to the conditions.
	m.stop()
	allGone()
	withoutConditions(e, w.GenerateName, attempt{user: controllers + "deployment-controller", do: replicaSet(e.namespace, "server")})
	e.manage()
	allBack()
	as(e, attempt{user: "tenant", do: replicaSet(e.namespace, "plain")})
}

// No manager starts without the answer to who it is. This test runs alone: until it ends, other clients
// do not get this answer either.
func TestSelfDeadlockOfTheManager(t *testing.T) {
	e := newEnv(t)
	e.group("og", namespaces(e.namespace))
	e.runDeployments()
	c := csv("operator.v1", "server")
	w := &c.Spec.WebhookDefinitions[0]
	w.TimeoutSeconds = new(int32(1))
	w.Rules = []admissionregistrationv1.RuleWithOperations{rule([]string{"authentication.k8s.io"}, "selfsubjectreviews")}
	m := e.manage()
	e.install(c)
	m.stop()
	knows(e, attempt{user: "tenant", do: func(ctx context.Context, client kubernetes.Interface) error {
		_, err := client.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
		return err
	}})
	e.manage()
	e.uninstall(c.Name)
	registersNothing(e)
}

// withoutConditions takes the matchConditions of a webhook away, and returns when the API
// server calls it about what one of them held back.
func withoutConditions(e *env, generateName string, heldBack attempt) {
	e.Helper()
	kube.Patch(e, e.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations(), e.registration(generateName).Name, types.JSONPatchType,
		[]byte(`[{"op": "remove", "path": "/webhooks/0/matchConditions"}]`))
	knows(e, heldBack)
}

// knows waits until the API server calls the webhook: it learns of a registration a moment after it is written.
func knows(e *env, a attempt) {
	e.Helper()
	e.eventually("the API server knows", func() (bool, any) {
		err := try(e, a)
		return wasCalled(err), err
	})
}

// attempts are what is done about the operator's pods, and what passes its dead webhook by.
func attempts(e *env, standing *corev1.Pod) map[string]attempt {
	const tenant, kubelet = "tenant", "system:node:one"
	nodes := []string{"system:nodes"}
	ours, elsewhere := ownPod(e, "server-6d4cf56db6"), ownPod(e, "other-6d4cf56db6")
	unowned := ownPod(e, "server-6d4cf56db6")
	unowned.OwnerReferences = nil
	dry := metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}
	return map[string]attempt{
		"its pod, by the replicaset controller":            {controllers + "replicaset-controller", nil, creating(ours), true},
		"its pod, by a controller manager of one identity": {"system:kube-controller-manager", nil, creating(ours), true},
		"its pod is placed":                                {"system:kube-scheduler", nil, binding(standing), true},
		"its pod's status":                                 {kubelet, nodes, patching(standing, "status"), true},
		"its pod is removed":                               {kubelet, nodes, deleting(standing, dry), true},
		"its ReplicaSet":                                   {controllers + "deployment-controller", nil, replicaSet(e.namespace, "server"), true},
		"its EndpointSlice":                                {controllers + "endpointslice-controller", nil, slice(e.namespace, "server-service"), true},
		"its lease":                                        {"system:serviceaccount:" + e.namespace + ":default", nil, lease(e.namespace), true},
		"its claim of devices":                             {controllers + "resource-claim-controller", nil, deviceClaim(e.namespace, standing.Name), true},

		"its claim of devices, by a tenant":                 {tenant, nil, deviceClaim(e.namespace, standing.Name), false},
		"its pod with labels and owner, by a tenant":        {tenant, nil, creating(ours), false},
		"its pod with labels only, by the controller":       {controllers + "replicaset-controller", nil, creating(unowned), false},
		"a pod of another ReplicaSet":                       {controllers + "replicaset-controller", nil, creating(elsewhere), false},
		"its pod is placed by a tenant":                     {tenant, nil, binding(standing), false},
		"its pod's status, by a tenant":                     {tenant, nil, patching(standing, "status"), false},
		"its pod, changed by a tenant":                      {tenant, nil, patching(standing), false},
		"its pod, deleted by a tenant":                      {tenant, nil, deleting(standing, dry), false},
		"its pod, evicted by a tenant":                      {tenant, nil, evicting(standing, dry), false},
		"its ReplicaSet, by a tenant":                       {tenant, nil, replicaSet(e.namespace, "server"), false},
		"another ReplicaSet":                                {controllers + "deployment-controller", nil, replicaSet(e.namespace, "other"), false},
		"another EndpointSlice":                             {controllers + "endpointslice-controller", nil, slice(e.namespace, "other"), false},
		"a lease of another account":                        {"system:serviceaccount:" + e.namespace + ":other", nil, lease(e.namespace), false},
		"its pod, by a controller's name of this namespace": {"system:serviceaccount:" + e.namespace + ":replicaset-controller", nil, creating(ours), false},
	}
}

// as makes an attempt, and fails when it ends in another way than it is to.
func as(e *env, a attempt) {
	e.Helper()
	switch err := try(e, a); {
	case a.passes && err != nil:
		e.Errorf("refused: %v", err)
	case !a.passes && !wasCalled(err):
		e.Errorf("the webhook was not called: %v", err)
	}
}

func wasCalled(err error) bool { return err != nil && strings.Contains(err.Error(), notAnswered) }

// try makes an attempt in the name of a user. He may do everything: only webhooks refuse.
func try(e *env, a attempt) error {
	e.Helper()
	config := cluster.Config()
	config.Impersonate = rest.ImpersonationConfig{UserName: a.user, Groups: append([]string{"system:masters", "system:authenticated"}, a.groups...)}
	client, err := kubernetes.NewForConfig(config)
	e.must(err)
	return a.do(e.ctx, client)
}

func interceptor() *operatorsv1alpha1.ClusterServiceVersion {
	c := csv("operator.v1", "server")
	w := &c.Spec.WebhookDefinitions[0]
	w.TimeoutSeconds = new(int32(1))
	w.Rules = []admissionregistrationv1.RuleWithOperations{
		everything("", "pods", "pods/status", "pods/binding", "pods/eviction", "services", "secrets"),
		everything("apps", "deployments", "replicasets"),
		everything("discovery.k8s.io", "endpointslices"),
		everything("coordination.k8s.io", "leases"),
		everything("rbac.authorization.k8s.io", "roles", "rolebindings"),
		everything("resource.k8s.io", "resourceclaims"),
	}
	return c
}

func everything(group string, resources ...string) admissionregistrationv1.RuleWithOperations {
	r := rule([]string{group}, resources...)
	r.Operations = []admissionregistrationv1.OperationType{admissionregistrationv1.OperationAll}
	return r
}

func ownPod(e *env, replicaSet string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: e.namespace, GenerateName: replicaSet + "-", Labels: map[string]string{"app": "server", wellknown.LabelCSV: "operator.v1"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: replicaSet, UID: "any", Controller: new(true)}},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "server", Image: "example.com/server:1"}}},
	}
}

type deed = func(context.Context, kubernetes.Interface) error

// creating creates a pod; one without a name only for show.
func creating(pod *corev1.Pod) deed {
	var options metav1.CreateOptions
	if pod.Name == "" {
		options.DryRun = []string{metav1.DryRunAll}
	}
	return func(ctx context.Context, client kubernetes.Interface) error {
		_, err := client.CoreV1().Pods(pod.Namespace).Create(ctx, pod, options)
		return err
	}
}

func binding(pod *corev1.Pod) deed {
	return func(ctx context.Context, client kubernetes.Interface) error {
		return client.CoreV1().Pods(pod.Namespace).Bind(ctx, &corev1.Binding{
			ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}, Target: corev1.ObjectReference{Kind: "Node", Name: "one"},
		}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	}
}

func patching(pod *corev1.Pod, subresources ...string) deed {
	return func(ctx context.Context, client kubernetes.Interface) error {
		_, err := client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, "application/merge-patch+json",
			[]byte(`{"metadata":{"annotations":{"example.com/seen":"yes"}}}`), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}, subresources...)
		return err
	}
}

func deleting(pod *corev1.Pod, options metav1.DeleteOptions) deed {
	return func(ctx context.Context, client kubernetes.Interface) error {
		return client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, options)
	}
}

func evicting(pod *corev1.Pod, options metav1.DeleteOptions) deed {
	return func(ctx context.Context, client kubernetes.Interface) error {
		return client.PolicyV1().Evictions(pod.Namespace).Evict(ctx, &policyv1.Eviction{
			ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}, DeleteOptions: &options,
		})
	}
}

func replicaSet(namespace, deployment string) deed {
	labels := map[string]string{"app": deployment}
	return func(ctx context.Context, client kubernetes.Interface) error {
		_, err := client.AppsV1().ReplicaSets(namespace).Create(ctx, &appsv1.ReplicaSet{
			ObjectMeta: controlled(deployment+"-6d4cf56db6", "apps/v1", "Deployment", deployment),
			Spec: appsv1.ReplicaSetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "server", Image: "example.com/server:1"}}},
			}},
		}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}
}

func slice(namespace, service string) deed {
	return func(ctx context.Context, client kubernetes.Interface) error {
		_, err := client.DiscoveryV1().EndpointSlices(namespace).Create(ctx, &discoveryv1.EndpointSlice{
			ObjectMeta: controlled(service+"-x7k2p", "v1", "Service", service), AddressType: discoveryv1.AddressTypeIPv4,
		}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}
}

func deviceClaim(namespace, pod string) deed {
	return func(ctx context.Context, client kubernetes.Interface) error {
		_, err := client.ResourceV1().ResourceClaims(namespace).Create(ctx, &resourcev1.ResourceClaim{
			ObjectMeta: controlled(pod+"-gpu", "v1", "Pod", pod),
			Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{
				{Name: "gpu", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpus"}},
			}}},
		}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}
}

func lease(namespace string) deed {
	return func(ctx context.Context, client kubernetes.Interface) error {
		_, err := client.CoordinationV1().Leases(namespace).Create(ctx, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "operator"}},
			metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}
}

func controlled(name, version, kind, owner string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, OwnerReferences: []metav1.OwnerReference{
		{APIVersion: version, Kind: kind, Name: owner, UID: "any", Controller: new(true)},
	}}
}

func TestAuthoredMatchConditions(t *testing.T) {
	e := newOwnNamespaceEnv(t)
	e.manage()
	c := interceptor()
	c.Annotations = map[string]string{wellknown.AnnotationMatchConditions: "v.example.com:\n- name: not-a-friend\n  expression: request.userInfo.username != 'friend'\n"}
	e.install(c)
	knows(e, attempt{user: "tenant", do: lease(e.namespace)})
	as(e, attempt{user: "friend", passes: true, do: lease(e.namespace)})

	e.edit(c.Name, func(c *operatorsv1alpha1.ClusterServiceVersion) {
		c.Annotations[wellknown.AnnotationMatchConditions] = "v.example.com: [{name: a, expression: 'no such thing'}]"
	})
	e.eventually("the expression is refused", func() (bool, any) {
		w := webhookStatus(e, c.Name, "v.example.com")
		return w.State == "Blocked" && strings.Contains(w.Message, "matchConditions"), w
	})
	as(e, attempt{user: "friend", passes: true, do: lease(e.namespace)})

	e.edit(c.Name, func(c *operatorsv1alpha1.ClusterServiceVersion) {
		c.Annotations[wellknown.AnnotationMatchConditions] = "v.example.net: []"
	})
	e.reachesSaying(c.Name, operatorsv1alpha1.CSVPhaseFailed, operatorsv1alpha1.CSVReasonInvalidWebhookDescription, `"v.example.net" is the generateName of no`)
}
