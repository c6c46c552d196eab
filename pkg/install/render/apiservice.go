package render

import (
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
)

// Priorities that OLM v0 uses.
const (
	groupPriorityMinimum = 2000
	versionPriority      = 15
)

// Every kind of the version has the same group and version.
func apiService(in Input, d operatorsv1alpha1.WebhookDescription, port int32) *apiregistrationv1.APIService {
	owned := csvspec.OwnedKinds(in.CSV, d.GenerateName)[0]
	annotations := in.Config.Propagated()
	trust := in.Trust[d.DeploymentName]
	if !trust.Delegated {
		annotations = labels.Merge(annotations, map[string]string{wellknown.AnnotationGeneration: strconv.FormatInt(trust.Generation, 10)})
	}
	return &apiregistrationv1.APIService{
		TypeMeta:   metav1.TypeMeta{APIVersion: apiregistrationv1.SchemeGroupVersion.String(), Kind: "APIService"},
		ObjectMeta: metav1.ObjectMeta{Name: d.GenerateName, Labels: labels.Merge(csvspec.OwnerLabels(in.CSV), map[string]string{wellknown.LabelWebhookHash: hashOf(d)}), Annotations: annotations},
		Spec: apiregistrationv1.APIServiceSpec{
			Service:              &apiregistrationv1.ServiceReference{Namespace: in.CSV.Namespace, Name: in.Services[d.DeploymentName], Port: &port},
			Group:                owned.Group,
			Version:              owned.Version,
			CABundle:             caBundle(trust),
			GroupPriorityMinimum: groupPriorityMinimum,
			VersionPriority:      versionPriority,
		},
	}
}
