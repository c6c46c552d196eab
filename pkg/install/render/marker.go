package render

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
)

// ValidatingMarker returns a canary that calls nothing. An API server that has observed it has also observed all earlier
// writes of validating configurations. occasion distinguishes it from each other one. It names the Service of a Deployment of
// the CSV: that proves to later managers that it is the CSV's.
func ValidatingMarker(csv *operatorsv1alpha1.ClusterServiceVersion, deployment, occasion string) *admissionregistrationv1.ValidatingWebhookConfiguration {
	marker := Canary(csv, names.Service(deployment), 443)
	marker.ObjectMeta = markerMeta(csv, "validating", occasion)
	marker.Webhooks[0].ObjectSelector.MatchLabels = canaryLabels(marker.Name, CanarySeen)
	return marker
}

// MutatingMarker is ValidatingMarker for mutating configurations.
func MutatingMarker(csv *operatorsv1alpha1.ClusterServiceVersion, deployment, occasion string) *admissionregistrationv1.MutatingWebhookConfiguration {
	meta := markerMeta(csv, "mutating", occasion)
	w := Canary(csv, names.Service(deployment), 443).Webhooks[0]
	return &admissionregistrationv1.MutatingWebhookConfiguration{
		TypeMeta:   configurationType("MutatingWebhookConfiguration"),
		ObjectMeta: meta,
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name: w.Name, ClientConfig: w.ClientConfig, Rules: w.Rules, FailurePolicy: w.FailurePolicy, NamespaceSelector: w.NamespaceSelector,
			ObjectSelector: &metav1.LabelSelector{MatchLabels: canaryLabels(meta.Name, CanarySeen)}, SideEffects: w.SideEffects,
			TimeoutSeconds: w.TimeoutSeconds, AdmissionReviewVersions: w.AdmissionReviewVersions, MatchConditions: w.MatchConditions,
		}},
	}
}

func markerMeta(csv *operatorsv1alpha1.ClusterServiceVersion, kind, occasion string) metav1.ObjectMeta {
	name := names.WebhookConfiguration("olm-webhook-manager-marker", csv.Namespace, kind+occasion)
	return metav1.ObjectMeta{Name: name, Labels: labels.Merge(csvspec.OwnerLabels(csv), map[string]string{wellknown.LabelCanary: name})}
}
