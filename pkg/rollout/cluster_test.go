package rollout

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/permissions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

func (c *cluster) carryOut(step Step) {
	c.t.Helper()
	live := c.find(step.Object)
	switch {
	case step.Verb == Create && live != nil:
		c.t.Fatalf("create %s: it exists", step.Key())
	case step.Verb != Create && live == nil:
		c.t.Fatalf("%s %s: it does not exist", step.Verb, step.Key())
	case step.Verb == Delete:
		c.carryOutDeletion(step.Key(), live)
		return
	}
	stored := step.Object.DeepCopyObject().(drift.Object)
	if c.admit != nil {
		c.admit(stored)
	}
	stored.GetObjectKind().SetGroupVersionKind(admissionregistrationv1.SchemeGroupVersion.WithKind("")) // as listers give it
	c.uids++
	stored.SetResourceVersion(fmt.Sprint(c.uids))
	stored.SetGeneration(1)
	stored.SetUID(types.UID(fmt.Sprint("uid-", c.uids)))
	stored.SetCreationTimestamp(metav1.NewTime(c.now.Truncate(time.Second)))
	if live != nil {
		stored.SetUID(live.GetUID())
		stored.SetGeneration(live.GetGeneration() + 1)
		stored.SetCreationTimestamp(live.GetCreationTimestamp())
	} else if c.Observed.CreationTimes != nil {
		c.Observed.CreationTimes[stored.GetUID()] = c.now.Add(-time.Nanosecond) // The next decision is later.
	}
	setDefaults(stored)
	ownGeneration(stored)
	ownPorts(stored)
	if d, ok := live.(*appsv1.Deployment); ok {
		stored.(*appsv1.Deployment).Status = d.Status
	}
	if s, ok := live.(*apiregistrationv1.APIService); ok {
		stored.(*apiregistrationv1.APIService).Status = s.Status
	}
	c.store(stored)
	if step.Desired != nil {
		c.Observed.Writes[step.Key()] = drift.WriteOf(step.Desired, stored)
	}
}

func (c *cluster) carryOutDeletion(key string, live drift.Object) {
	switch {
	case live.GetDeletionTimestamp() != nil:
		c.t.Fatalf("delete %s: it is being deleted", key)
	case len(live.GetFinalizers()) > 0:
		kept := live.DeepCopyObject().(drift.Object)
		kept.SetDeletionTimestamp(new(metav1.NewTime(c.now.Truncate(time.Second))))
		c.store(kept)
	default:
		c.remove(live)
		maps.DeleteFunc(c.Observed.Writes, func(written string, w drift.Write) bool { return written == key && !w.RefusesGrant() })
	}
}

// ownGeneration adds a managed fields entry of the manager for the certificate generation.
func ownGeneration(o drift.Object) {
	if o.GetAnnotations()[wellknown.AnnotationGeneration] != "" && !drift.SoleOwner(o, drift.GenerationField) {
		fields := `{"f:metadata":{"f:annotations":{"f:` + wellknown.AnnotationGeneration + `":{}}}}`
		o.SetManagedFields(append(o.GetManagedFields(), wrote(wellknown.FieldManager, fields)))
	}
}

// ownPorts adds a managed fields entry of the manager for the ports of a Service and the annotation with kept ports.
func ownPorts(o drift.Object) {
	service, ok := o.(*corev1.Service)
	if !ok {
		return
	}
	ports := lists.Map(service.Spec.Ports, func(p corev1.ServicePort) string {
		return fmt.Sprintf(`"k:{\"port\":%d,\"protocol\":\"TCP\"}":{".":{},"f:name":{},"f:port":{},"f:protocol":{},"f:targetPort":{}}`, p.Port)
	})
	fields := `{"f:metadata":{"f:annotations":{"f:` + wellknown.AnnotationKeptPorts + `":{}}},"f:spec":{"f:ports":{` + strings.Join(ports, ",") + `}}}`
	service.SetManagedFields([]metav1.ManagedFieldsEntry{wrote(wellknown.FieldManager, fields)})
}

func setDefaults(o drift.Object) {
	switch o := o.(type) {
	case *corev1.Service:
		o.Spec.ClusterIP, o.Spec.ClusterIPs = "10.96.0.10", []string{"10.96.0.10"}
		o.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol}
		o.Spec.SessionAffinity = corev1.ServiceAffinityNone
	case *appsv1.Deployment:
		if o.Spec.Replicas == nil {
			o.Spec.Replicas = new(int32(1))
		}
		o.Spec.ProgressDeadlineSeconds = new(int32(600))
		quarter := intstr.FromString("25%")
		o.Spec.Strategy = appsv1.DeploymentStrategy{
			Type: appsv1.RollingUpdateDeploymentStrategyType, RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: &quarter, MaxUnavailable: &quarter},
		}
		pod := &o.Spec.Template.Spec
		pod.RestartPolicy, pod.DNSPolicy, pod.SchedulerName = corev1.RestartPolicyAlways, corev1.DNSClusterFirst, corev1.DefaultSchedulerName
		pod.SecurityContext = &corev1.PodSecurityContext{}
		for i := range pod.Containers {
			pod.Containers[i].ImagePullPolicy = corev1.PullIfNotPresent
		}
		for i := range pod.Volumes {
			pod.Volumes[i].Secret.DefaultMode = new(int32(0o644))
		}
	}
}

func (c *cluster) find(o drift.Object) drift.Object {
	switch o.(type) {
	case *appsv1.Deployment:
		return lookUp(c.Observed.Deployments, o.GetName())
	case *corev1.Service:
		return lookUp(c.Observed.Services, o.GetName())
	case *policyv1.PodDisruptionBudget:
		return lookUp(c.Observed.Budgets, o.GetName())
	case *rbacv1.Role:
		return lookUp(c.Observed.Roles, o.GetName())
	case *rbacv1.RoleBinding:
		if permissions.Delegates(o) {
			return lookUp(c.Observed.AuthReaders, o.GetName())
		}
		return lookUp(c.Observed.RoleBindings, o.GetName())
	case *rbacv1.ClusterRoleBinding:
		return lookUp(c.Observed.AuthDelegators, o.GetName())
	}
	for _, r := range c.Observed.registrations() {
		if drift.KeyOf(r.Object) == drift.KeyOf(o) {
			return r.Object
		}
	}
	return nil
}

func (c *cluster) store(o drift.Object) {
	c.remove(o)
	c.Observed.Adopt(o, "")
}

func (c *cluster) remove(o drift.Object) {
	switch o.(type) {
	case *appsv1.Deployment:
		delete(c.Observed.Deployments, o.GetName())
	case *corev1.Service:
		delete(c.Observed.Services, o.GetName())
	case *policyv1.PodDisruptionBudget:
		delete(c.Observed.Budgets, o.GetName())
	case *rbacv1.Role:
		delete(c.Observed.Roles, o.GetName())
	case *rbacv1.RoleBinding:
		delete(c.Observed.RoleBindings, o.GetName())
		delete(c.Observed.AuthReaders, o.GetName())
	case *rbacv1.ClusterRoleBinding:
		delete(c.Observed.AuthDelegators, o.GetName())
	}
	c.Observed.APIServices = slices.DeleteFunc(c.Observed.APIServices, func(s *apiregistrationv1.APIService) bool { return drift.KeyOf(s) == drift.KeyOf(o) })
	c.Observed.Validating = slices.DeleteFunc(c.Observed.Validating, func(v *admissionregistrationv1.ValidatingWebhookConfiguration) bool {
		return drift.KeyOf(v) == drift.KeyOf(o)
	})
	c.Observed.Mutating = slices.DeleteFunc(c.Observed.Mutating, func(m *admissionregistrationv1.MutatingWebhookConfiguration) bool {
		return drift.KeyOf(m) == drift.KeyOf(o)
	})
}

// becomeAvailable sets the status of a complete rollout and the endpoints, once for each generation.
func (c *cluster) becomeAvailable(deployment string) {
	d := c.Observed.Deployments[deployment]
	if d.Status.ObservedGeneration == d.Generation && d.Status.AvailableReplicas == *d.Spec.Replicas {
		return
	}
	n := *d.Spec.Replicas
	d.Status = appsv1.DeploymentStatus{
		ObservedGeneration: d.Generation, Replicas: n, UpdatedReplicas: n, ReadyReplicas: n, AvailableReplicas: n,
		Conditions: []appsv1.DeploymentCondition{
			{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable", LastUpdateTime: metav1.NewTime(c.now), LastTransitionTime: metav1.NewTime(c.now)},
			{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(c.now)},
		},
	}
	c.serve(deployment, "10.244.0.5")
}

func (c *cluster) becomeUnavailable(deployment string) {
	d := c.Observed.Deployments[deployment]
	n := *d.Spec.Replicas
	d.Status = appsv1.DeploymentStatus{
		ObservedGeneration: d.Generation, Replicas: n, UpdatedReplicas: n, UnavailableReplicas: n,
		Conditions: []appsv1.DeploymentCondition{
			{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "ReplicaSetUpdated", LastUpdateTime: metav1.NewTime(c.now), LastTransitionTime: metav1.NewTime(c.now)},
			{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(c.now), Message: "Deployment does not have minimum availability."},
		},
	}
	c.serve(deployment)
}

// serve sets the ready endpoints behind a Deployment's Service.
func (c *cluster) serve(deployment string, addresses ...string) {
	if service := c.Observed.Services[names.Service(deployment)]; service != nil {
		c.Observed.Slices[service.Name] = c.slicesWith(deployment, addresses...)
	}
}

// slicesWith returns the EndpointSlices of a Deployment's Service with these ready endpoints.
func (c *cluster) slicesWith(deployment string, addresses ...string) []*discoveryv1.EndpointSlice {
	service := c.Observed.Services[names.Service(deployment)]
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: "shop", Name: service.Name + "-1"},
		AddressType: discoveryv1.AddressType(service.Spec.IPFamilies[0]),
	}
	for _, port := range service.Spec.Ports {
		slice.Ports = append(slice.Ports, discoveryv1.EndpointPort{Name: &port.Name, Port: new(port.TargetPort.IntVal)})
	}
	for i, address := range addresses {
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{
			Addresses: []string{address}, Conditions: discoveryv1.EndpointConditions{Ready: new(true)},
			TargetRef: &corev1.ObjectReference{Namespace: "shop", Name: fmt.Sprintf("%s-%d", deployment, i)},
		})
	}
	return []*discoveryv1.EndpointSlice{slice}
}

func (c *cluster) validating(deployment string) *admissionregistrationv1.ValidatingWebhookConfiguration {
	c.t.Helper()
	return c.validatingNamed("v." + deployment + ".example.com")
}

// refuse makes the API server refuse writes of an object. A kind alone stands for the only object of that kind.
func (c *cluster) refuse(key, message string) {
	c.t.Helper()
	c.next()
	for _, d := range c.Desired.Deployments {
		for _, w := range d.Webhooks {
			if w.Registration != nil && strings.HasPrefix(drift.KeyOf(w.Registration), key+" ") {
				key = drift.KeyOf(w.Registration)
			}
		}
	}
	for _, r := range c.Observed.registrations() {
		if strings.HasPrefix(drift.KeyOf(r.Object), key+" ") {
			key = drift.KeyOf(r.Object)
		}
	}
	c.Observed.Refused[key] = message
}

func (c *cluster) validatingNamed(generateName string) *admissionregistrationv1.ValidatingWebhookConfiguration {
	c.t.Helper()
	for _, v := range c.Observed.Validating {
		if strings.HasPrefix(v.Name, generateName+"-") {
			return v
		}
	}
	c.t.Fatalf("webhook %s is not registered", generateName)
	return nil
}
