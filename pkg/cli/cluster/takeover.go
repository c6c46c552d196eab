package cluster

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/utils/ptr"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/csvstatus"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/takeover"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
)

// TakeoverReader reads the state of a takeover.
type TakeoverReader struct {
	*Cluster

	// Manager is the Deployment of the manager.
	Manager types.NamespacedName
	// OLMNamespace is the namespace of olm-operator; empty for the only one.
	OLMNamespace string
	// OLMVersion replaces the version that is read; empty to read it.
	OLMVersion string
}

// Snapshot reads programs, ClusterServiceVersions, WebhookRollouts and what is held. It dials no webhook.
func (c TakeoverReader) Snapshot(ctx context.Context) (takeover.Snapshot, error) {
	var s takeover.Snapshot
	if err := c.programs(ctx, &s); err != nil {
		return s, err
	}
	csvs, err := c.versions(ctx, &s)
	if err != nil {
		return s, err
	}
	s.OLMVersion = cmp.Or(c.OLMVersion, versionOfOLM(csvs, s.OLM))
	if s.HeldDefinitions, err = c.heldDefinitions(ctx, csvs); err != nil {
		return s, err
	}
	s.Policies, err = c.crdPolicies(ctx)
	return s, err
}

const nameOfOLM = "olm-operator"

func (c TakeoverReader) programs(ctx context.Context, s *takeover.Snapshot) error {
	found, err := c.Kube.AppsV1().Deployments(c.OLMNamespace).List(ctx, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, nameOfOLM).String()})
	if err != nil {
		return err
	}
	if len(found.Items) > 1 {
		return errors.New("several namespaces have a Deployment olm-operator (" + strings.Join(lists.Map(found.Items, func(d appsv1.Deployment) string { return d.Namespace }), ", ") + "): choose one with --olm-namespace")
	}
	if len(found.Items) == 1 {
		if s.OLM, err = c.program(ctx, &found.Items[0]); err != nil {
			return err
		}
		if s.OLM.ScaledBy, err = c.olmScaledBy(ctx, s, &found.Items[0]); err != nil {
			return err
		}
	}
	managers, err := c.Kube.AppsV1().Deployments(metav1.NamespaceAll).List(ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=" + wellknown.FieldManager})
	if err != nil {
		return err
	}
	for _, d := range managers.Items {
		name := types.NamespacedName{Namespace: d.Namespace, Name: d.Name}
		if name != c.Manager && ptr.Deref(d.Spec.Replicas, 1) > 0 {
			s.OtherManagers = append(s.OtherManagers, name)
		}
	}
	own, err := c.Kube.AppsV1().Deployments(c.Manager.Namespace).Get(ctx, c.Manager.Name, metav1.GetOptions{})
	if err != nil {
		return utilerrors.FilterOut(err, apierrors.IsNotFound)
	}
	if s.Manager, err = c.program(ctx, own); err != nil {
		return err
	}
	s.Manager.ScaledBy = appliedBy(own)
	return nil
}

func (c TakeoverReader) program(ctx context.Context, d *appsv1.Deployment) (*takeover.Program, error) {
	p := &takeover.Program{
		NamespacedName: types.NamespacedName{Namespace: d.Namespace, Name: d.Name},
		Replicas:       ptr.Deref(d.Spec.Replicas, 1), Available: d.Status.AvailableReplicas,
	}
	if d.Status.ObservedGeneration < d.Generation {
		p.Available = 0 // The status is that of another number of replicas.
	}
	for _, condition := range d.Status.Conditions {
		if condition.Type == appsv1.DeploymentAvailable && condition.Status == corev1.ConditionTrue {
			p.AvailableSince = condition.LastTransitionTime.Time
		}
	}
	for _, container := range d.Spec.Template.Spec.Containers {
		p.Args = append(p.Args, container.Args...)
	}
	pods, err := c.Kube.CoreV1().Pods(d.Namespace).List(ctx, metav1.ListOptions{LabelSelector: metav1.FormatLabelSelector(d.Spec.Selector)})
	if err != nil {
		return nil, err
	}
	p.Pods = lists.FilterMap(pods.Items, func(pod corev1.Pod) (string, bool) {
		return pod.Name, pod.Status.Phase != corev1.PodFailed && pod.Status.Phase != corev1.PodSucceeded
	})
	return p, nil
}

// versions also returns the ClusterServiceVersions as they are.
func (c TakeoverReader) versions(ctx context.Context, s *takeover.Snapshot) ([]operatorsv1alpha1.ClusterServiceVersion, error) {
	csvs, _, err := c.csvs(ctx, metav1.NamespaceAll)
	if err != nil {
		return nil, err
	}
	rollouts, unknown, err := c.Rollouts(ctx, metav1.NamespaceAll)
	if err != nil {
		return nil, err
	}
	s.NoRollouts = unknown
	reports := map[types.NamespacedName]takeover.Report{}
	for _, r := range rollouts {
		reports[types.NamespacedName{Namespace: r.Namespace, Name: r.Name}] = takeover.ReportOf(r.Status.Takeover)
	}
	for _, csv := range csvs {
		name := types.NamespacedName{Namespace: csv.Namespace, Name: csv.Name}
		report, exists := reports[name]
		s.CSVs = append(s.CSVs, takeover.CSV{
			NamespacedName: name, Annotations: csv.Annotations, Phase: string(csv.Status.Phase), Cause: csvstatus.Explained(csv.Status), Order: takeover.OrderOf(&csv),
			UnknownLabel: takeover.HasUnknownLabel(&csv), HasRollout: exists, Report: report, HasDeployments: len(csvspec.Deployments(&csv)) > 0,
		})
	}
	if err := c.managersForms(ctx, s); err != nil {
		return nil, err
	}
	slices.SortFunc(s.CSVs, func(a, b takeover.CSV) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	return csvs, nil
}

// nameOfPackageServer begins the name of the ClusterServiceVersion with which each version of OLM is released.
const nameOfPackageServer = "packageserver"

// versionOfOLM returns the version of OLM's own ClusterServiceVersion; empty if it has none.
func versionOfOLM(csvs []operatorsv1alpha1.ClusterServiceVersion, olm *takeover.Program) string {
	for _, csv := range csvs {
		if olm != nil && csv.Namespace == olm.Namespace && csv.Name == nameOfPackageServer && csv.Spec.Version.String() != "0.0.0" {
			return "v" + csv.Spec.Version.String()
		}
	}
	return ""
}

// heldDefinitions returns the CustomResourceDefinitions whose annotations report what the policy holds.
func (c TakeoverReader) heldDefinitions(ctx context.Context, csvs []operatorsv1alpha1.ClusterServiceVersion) ([]takeover.HeldDefinition, error) {
	list, err := c.Metadata.Resource(Definitions).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return lists.FilterMap(list.Items, func(d metav1.PartialObjectMetadata) (takeover.HeldDefinition, bool) {
		return takeover.HeldDefinition{Name: d.Name, CSVs: convertersOf(d.Name, csvs)}, slices.ContainsFunc(held, func(name string) bool { return d.Annotations[name] != "" })
	}), nil
}

// convertersOf returns the ClusterServiceVersions with a conversion webhook for a definition.
func convertersOf(definition string, csvs []operatorsv1alpha1.ClusterServiceVersion) []types.NamespacedName {
	return lists.FilterMap(csvs, func(csv operatorsv1alpha1.ClusterServiceVersion) (types.NamespacedName, bool) {
		return types.NamespacedName{Namespace: csv.Namespace, Name: csv.Name}, slices.Contains(csvspec.ConversionCRDs(&csv), definition)
	})
}

var held = []string{wellknown.AnnotationHeldVersions, wellknown.AnnotationHeldStorageVersion, wellknown.AnnotationHeldConversion}

// crdPolicies returns the policy for CustomResourceDefinitions and its binding, as far as they exist.
func (c TakeoverReader) crdPolicies(ctx context.Context) ([]takeover.Object, error) {
	var all []takeover.Object
	_, err := c.Kube.AdmissionregistrationV1().MutatingAdmissionPolicyBindings().Get(ctx, nameOfPolicy, metav1.GetOptions{})
	if err == nil {
		all = append(all, takeover.Object{Kind: takeover.KindBinding, Name: nameOfPolicy})
	}
	if err := utilerrors.FilterOut(err, apierrors.IsNotFound); err != nil {
		return nil, err
	}
	_, err = c.Kube.AdmissionregistrationV1().MutatingAdmissionPolicies().Get(ctx, nameOfPolicy, metav1.GetOptions{})
	if err == nil {
		all = append(all, takeover.Object{Kind: takeover.KindPolicy, Name: nameOfPolicy})
	}
	return all, utilerrors.FilterOut(err, apierrors.IsNotFound)
}

// nameOfPolicy is the name of the policy of package pkg/olmoperator/crdpolicy/policy.
const nameOfPolicy = "crds.olm-webhook-manager.io"
