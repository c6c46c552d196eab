package render

import (
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
)

// Names of the webhooks of a canary.
const (
	// CanarySeen refuses without a call, which shows that the API server has read the canary.
	CanarySeen   = "seen" + canarySuffix
	canarySuffix = ".canary.olm-webhook-manager.io"
)

// CanaryCalled returns the name of the webhook that calls the Service with one of the bundles.
func CanaryCalled(bundle int) string {
	return fmt.Sprintf("called-%d%s", bundle, canarySuffix)
}

// UniqueBundles returns copies with texts that also differ between occasions: API servers cache connections
// by the text of the bundle.
func UniqueBundles(bundle []byte, times int, occasion string) [][]byte {
	all := make([][]byte, 0, times)
	for i := range times {
		all = append(all, append(fmt.Appendf(nil, "# %s, %d\n", occasion, i), bundle...))
	}
	return all
}

// CanaryPath returns the name of the webhook for one of the paths of AddPaths.
func CanaryPath(path int) string {
	return fmt.Sprintf("path-%d%s", path, canarySuffix)
}

// CanaryCondition fails for every object, so that the API server refuses it and names the condition.
const CanaryCondition = `object.metadata.labels["olm-webhook-manager.io/canary-seen"] == ""`

// canaryPath is a path that no server has.
const canaryPath = "/olm-webhook-manager-canary-of-a-path-that-does-not-exist"

// Canary tests several caBundles. It matches only labelled objects of the manager in dry-run requests. An
// unused one is removed as an undeclared registration, by the owner labels of the CSV.
func Canary(csv *operatorsv1alpha1.ClusterServiceVersion, service string, port int32, bundles ...[]byte) *admissionregistrationv1.ValidatingWebhookConfiguration {
	name := names.WebhookConfiguration("olm-webhook-manager-canary", csv.Namespace, service)
	canary := &admissionregistrationv1.ValidatingWebhookConfiguration{
		TypeMeta:   configurationType("ValidatingWebhookConfiguration"),
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels.Merge(csvspec.OwnerLabels(csv), map[string]string{wellknown.LabelCanary: name})},
	}
	called := func(webhook string, bundle []byte) {
		canary.Webhooks = append(canary.Webhooks, admissionregistrationv1.ValidatingWebhook{
			Name: webhook,
			ClientConfig: admissionregistrationv1.WebhookClientConfig{
				Service:  &admissionregistrationv1.ServiceReference{Namespace: csv.Namespace, Name: service, Path: new(canaryPath), Port: &port},
				CABundle: bundle,
			},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule: admissionregistrationv1.Rule{
					APIGroups: []string{managerv1alpha1.SchemeGroupVersion.Group}, APIVersions: []string{"*"}, Resources: []string{"webhookrollouts"},
				},
			}},
			FailurePolicy:           new(admissionregistrationv1.Fail),
			NamespaceSelector:       &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: csv.Namespace}},
			ObjectSelector:          &metav1.LabelSelector{MatchLabels: canaryLabels(name, webhook)},
			SideEffects:             new(admissionregistrationv1.SideEffectClassNone),
			TimeoutSeconds:          new(int32(2)),
			AdmissionReviewVersions: []string{"v1"},
		})
	}
	called(CanarySeen, nil)
	for i, bundle := range bundles {
		called(CanaryCalled(i), bundle)
	}
	canary.Webhooks[0].MatchConditions = []admissionregistrationv1.MatchCondition{{Name: "seen", Expression: CanaryCondition}}
	return canary
}

// IsCanary requires the webhooks: another client can set the label.
func IsCanary(o metav1.Object) bool {
	if _, labelled := o.GetLabels()[wellknown.LabelCanary]; !labelled {
		return false
	}
	other := func(webhook string) bool { return !strings.HasSuffix(webhook, canarySuffix) }
	switch c := o.(type) {
	case *admissionregistrationv1.ValidatingWebhookConfiguration:
		return !slices.ContainsFunc(c.Webhooks, func(w admissionregistrationv1.ValidatingWebhook) bool { return other(w.Name) })
	case *admissionregistrationv1.MutatingWebhookConfiguration:
		return !slices.ContainsFunc(c.Webhooks, func(w admissionregistrationv1.MutatingWebhook) bool { return other(w.Name) })
	default:
		return false
	}
}

// AddPaths adds a webhook for each path to a canary. It uses the first bundle.
func AddPaths(canary *admissionregistrationv1.ValidatingWebhookConfiguration, paths []string) {
	called := canary.Webhooks[1]
	for i := range paths {
		w := *called.DeepCopy()
		w.Name, w.ClientConfig.Service.Path = CanaryPath(i), &paths[i]
		w.ObjectSelector = &metav1.LabelSelector{MatchLabels: canaryLabels(canary.Name, w.Name)}
		canary.Webhooks = append(canary.Webhooks, w)
	}
}

// CanaryObject returns the object that a webhook of a canary matches, to be created with a dry run.
func CanaryObject(canary, webhook string) *managerv1alpha1.WebhookRollout {
	return &managerv1alpha1.WebhookRollout{ObjectMeta: metav1.ObjectMeta{
		Name: canary, Labels: canaryLabels(canary, webhook),
	}}
}

func canaryLabels(canary, webhook string) map[string]string {
	return map[string]string{wellknown.LabelCanary: names.LabelValue(canary + "." + strings.Split(webhook, ".")[0])}
}
