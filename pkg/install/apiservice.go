package install

import (
	"k8s.io/apimachinery/pkg/labels"
	"cmp"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/vocabulary"
)

// APIServiceType is the type of what describes an owned APIService.
const APIServiceType = managerv1alpha1.APIServiceType

// The priorities among groups and versions that OLM v0 gives.
const (
	groupPriorityMinimum = 2000
	versionPriority      = 15
)

// servedAPIs are the owned APIServices that name the given Deployment: one for each
// version of a group, however many kinds it has.
func servedAPIs(csv *operatorsv1alpha1.ClusterServiceVersion, deployment string) []operatorsv1alpha1.WebhookDescription {
	var of []operatorsv1alpha1.WebhookDescription
	for _, d := range csv.Spec.APIServiceDefinitions.Owned {
		description := operatorsv1alpha1.WebhookDescription{
			Type: APIServiceType, GenerateName: APIServiceName(d.Group, d.Version), DeploymentName: d.DeploymentName,
			ContainerPort: cmp.Or(d.ContainerPort, defaultPort),
		}
		known := func(other operatorsv1alpha1.WebhookDescription) bool {
			return other.GenerateName == description.GenerateName
		}
		if d.DeploymentName == deployment && !slices.ContainsFunc(of, known) {
			of = append(of, description)
		}
	}
	return of
}

// apiService registers a version of a group. The group and the version of a description
// are those of any of its kinds.
func apiService(in Input, d operatorsv1alpha1.WebhookDescription, port int32) *apiregistrationv1.APIService {
	owned := OwnedKinds(in.CSV, d.GenerateName)[0]
	annotations := in.Config.Propagated()
	trust := in.Trust[d.DeploymentName]
	if !trust.Delegated {
		annotations = labels.Merge(annotations, map[string]string{vocabulary.AnnotationGeneration: strconv.FormatInt(trust.Generation, 10)})
	}
	return &apiregistrationv1.APIService{
		TypeMeta:   metav1.TypeMeta{APIVersion: apiregistrationv1.SchemeGroupVersion.String(), Kind: "APIService"},
		ObjectMeta: metav1.ObjectMeta{Name: d.GenerateName, Labels: labels.Merge(OwnerLabels(in.CSV), map[string]string{vocabulary.LabelWebhookHash: hashOf(d)}), Annotations: annotations},
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

// OwnedKinds are the descriptions of all kinds that an owned APIService serves.
func OwnedKinds(csv *operatorsv1alpha1.ClusterServiceVersion, name string) []operatorsv1alpha1.APIServiceDescription {
	var owned []operatorsv1alpha1.APIServiceDescription
	for _, d := range csv.Spec.APIServiceDefinitions.Owned {
		if APIServiceName(d.Group, d.Version) == name {
			owned = append(owned, d)
		}
	}
	return owned
}

// Registers tells whether a live registration of a type is the one of an identity: an
// APIService by its name, any other by what it says it is for.
func (i Identity) Registers(kind operatorsv1alpha1.WebhookAdmissionType, live metav1.Object) bool {
	if i.Type != kind {
		return false
	}
	if kind == APIServiceType {
		return live.GetName() == i.GenerateName
	}
	return live.GetLabels()[vocabulary.LabelWebhookGenerateName] == names.LabelValue(i.GenerateName)
}
