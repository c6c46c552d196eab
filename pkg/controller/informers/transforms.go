package informers

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// unlessManaged keeps of a derived object what its repair depends on, and strips all others.
func unlessManaged(strip cache.TransformFunc) cache.TransformFunc {
	return func(o any) (any, error) {
		if object, ok := o.(metav1.Object); ok && csvspec.IsManaged(object) {
			return trimManagedFields(o)
		}
		return strip(o)
	}
}

// trimManagedFields keeps the managed fields on which the repair of a derived object depends.
func trimManagedFields(o any) (any, error) {
	if object, ok := o.(drift.Object); ok {
		drift.TrimManagedFields(object)
	}
	return o, nil
}

// withoutBudgetStatus drops the status, which the disruption controller writes whenever a pod changes.
func withoutBudgetStatus(o any) (any, error) {
	if budget, ok := o.(*policyv1.PodDisruptionBudget); ok {
		budget.Status = policyv1.PodDisruptionBudgetStatus{}
	}
	return trimManagedFields(o)
}

// onlySelector keeps of a budget of another client its identity and which pods it selects.
func onlySelector(o any) (any, error) {
	if budget, ok := o.(*policyv1.PodDisruptionBudget); ok {
		return &policyv1.PodDisruptionBudget{ObjectMeta: identityOf(budget.ObjectMeta), Spec: policyv1.PodDisruptionBudgetSpec{Selector: budget.Spec.Selector}}, nil
	}
	return o, nil
}

// withoutManagedFields drops the managed fields, which are read only of objects that the manager repairs.
func withoutManagedFields(o any) (any, error) {
	if object, err := meta.Accessor(o); err == nil {
		object.SetManagedFields(nil)
	}
	return o, nil
}

func trimmedCSV(o any) (any, error) {
	if csv, ok := o.(*operatorsv1alpha1.ClusterServiceVersion); ok {
		TrimCSV(csv)
	}
	return o, nil
}

// TrimCSV drops what is for catalogs and consoles, and managed fields except those of requests to rotate.
func TrimCSV(csv *operatorsv1alpha1.ClusterServiceVersion) {
	csv.ManagedFields = slices.DeleteFunc(csv.ManagedFields, func(w metav1.ManagedFieldsEntry) bool {
		return !certs.RotateAtByOther([]metav1.ManagedFieldsEntry{w})
	})
	if csv.Labels[wellknown.LabelTakeover] == "" { // olm-operator has copied it into pod templates
		delete(csv.Annotations, corev1.LastAppliedConfigAnnotation) // a copy of the whole object
	}
	csv.Spec.Icon, csv.Spec.Description = nil, ""
	csv.Spec.Keywords, csv.Spec.Maintainers, csv.Spec.Links, csv.Spec.RelatedImages = nil, nil, nil, nil
	for _, described := range [][]operatorsv1alpha1.CRDDescription{csv.Spec.CustomResourceDefinitions.Owned, csv.Spec.CustomResourceDefinitions.Required} {
		for i := range described {
			d := &described[i]
			*d = operatorsv1alpha1.CRDDescription{Name: d.Name, Version: d.Version, Kind: d.Kind, DisplayName: d.DisplayName}
		}
	}
}

// withoutCatalog keeps the configuration of a Subscription, and the ClusterServiceVersions and the InstallPlan that it names.
func withoutCatalog(o any) (any, error) {
	if s, ok := o.(*operatorsv1alpha1.Subscription); ok {
		s.ManagedFields, s.Annotations, s.Labels = nil, nil, nil
		s.Status = operatorsv1alpha1.SubscriptionStatus{InstalledCSV: s.Status.InstalledCSV, CurrentCSV: s.Status.CurrentCSV, InstallPlanRef: s.Status.InstallPlanRef}
		if s.Spec != nil {
			s.Spec = &operatorsv1alpha1.SubscriptionSpec{StartingCSV: s.Spec.StartingCSV, Config: s.Spec.Config}
		}
	}
	return o, nil
}

// withoutManifests drops the manifests of InstallPlans, which have the size of bundles.
func withoutManifests(o any) (any, error) {
	if plan, ok := o.(*operatorsv1alpha1.InstallPlan); ok {
		plan.ManagedFields, plan.Annotations = nil, nil
		plan.Spec = operatorsv1alpha1.InstallPlanSpec{Approved: plan.Spec.Approved, Generation: plan.Spec.Generation}
		steps := plan.Status.Plan
		plan.Status = operatorsv1alpha1.InstallPlanStatus{Phase: plan.Status.Phase, Message: plan.Status.Message, Conditions: plan.Status.Conditions}
		for _, step := range steps {
			if step != nil {
				resource := operatorsv1alpha1.StepResource{Group: step.Resource.Group, Kind: step.Resource.Kind, Name: step.Resource.Name}
				plan.Status.Plan = append(plan.Status.Plan, &operatorsv1alpha1.Step{Resolving: step.Resolving, Status: step.Status, Resource: resource})
			}
		}
	}
	return o, nil
}

func withoutSchemas(o any) (any, error) {
	if crd, ok := o.(*apiextensionsv1.CustomResourceDefinition); ok {
		drift.TrimDefinition(crd)
		maps.DeleteFunc(crd.Annotations, func(key, _ string) bool { return key == corev1.LastAppliedConfigAnnotation })
		for i := range crd.Spec.Versions {
			v := crd.Spec.Versions[i]
			crd.Spec.Versions[i] = apiextensionsv1.CustomResourceDefinitionVersion{Name: v.Name, Served: v.Served, Storage: v.Storage, Subresources: v.Subresources}
		}
	}
	return o, nil
}

// withoutPodSpec keeps the identity and status of a pod, and the named ports of its containers.
func withoutPodSpec(o any) (any, error) {
	if pod, ok := o.(*corev1.Pod); ok {
		pod.ManagedFields, pod.Annotations = nil, nil
		pod.Spec = corev1.PodSpec{Containers: namedPorts(pod.Spec.Containers), InitContainers: namedPorts(pod.Spec.InitContainers)}
	}
	return o, nil
}

func namedPorts(containers []corev1.Container) []corev1.Container {
	var all []corev1.Container
	for _, c := range containers {
		ports := slices.DeleteFunc(slices.Clone(c.Ports), func(p corev1.ContainerPort) bool { return p.Name == "" })
		if len(ports) > 0 {
			all = append(all, corev1.Container{Name: c.Name, Ports: ports})
		}
	}
	return all
}

// onlyGrant keeps the rules of a role, or the subjects and the role of a binding.
func onlyGrant(o any) (any, error) {
	switch o := o.(type) {
	case *rbacv1.Role:
		o.ObjectMeta = identityAndOwnersOf(o.ObjectMeta)
	case *rbacv1.RoleBinding:
		o.ObjectMeta = identityAndOwnersOf(o.ObjectMeta)
	case *rbacv1.ClusterRole:
		o.ObjectMeta = identityOf(o.ObjectMeta)
	case *rbacv1.ClusterRoleBinding:
		o.ObjectMeta = identityOf(o.ObjectMeta)
	}
	return o, nil
}

// identityAndOwnersOf also keeps the owner references, by which a namespaced object is garbage collected.
func identityAndOwnersOf(meta metav1.ObjectMeta) metav1.ObjectMeta {
	identity := identityOf(meta)
	identity.OwnerReferences = meta.OwnerReferences
	return identity
}

func identityOf(meta metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: meta.Namespace, Name: meta.Name, UID: meta.UID, ResourceVersion: meta.ResourceVersion}
}
