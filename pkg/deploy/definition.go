// Package deploy decides how a bundle gets into a cluster, from one version to the next,
// and out again. It is pure: pkg/cluster does what it decides.
package deploy

import (
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install"
)

// Opening is a definition as it is written before its operator is installed. Versions
// that only a webhook of the operator can convert to come together with that conversion:
// until the webhook serves, requests in them fail, where without a conversion objects
// would be relabelled and lose fields. The version that is stored now stays the stored one,
// so that nobody who works in it is held up.
func Opening(live, next *apiextensionsv1.CustomResourceDefinition, csv *operatorsv1alpha1.ClusterServiceVersion) *apiextensionsv1.CustomResourceDefinition {
	opening := Settled(live, next)
	if live != nil {
		keepStorage(opening, live)
	}
	if webhookConverts(opening) || len(opening.Spec.Versions) < 2 {
		return opening
	}
	if conversion := declared(csv, next.Name); conversion != nil {
		opening.Spec.Conversion = placeholder(csv, *conversion)
	}
	return opening
}

// Settled is a definition as the bundle has it, with the conversion that the manager keeps.
func Settled(live, next *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinition {
	settled := next.DeepCopy()
	if live == nil {
		return settled
	}
	settled.ObjectMeta = *live.ObjectMeta.DeepCopy()
	settled.Labels, settled.Annotations = merged(live.Labels, next.Labels), merged(live.Annotations, next.Annotations)
	settled.Status = *live.Status.DeepCopy()
	if live.Spec.Conversion != nil {
		settled.Spec.Conversion = live.Spec.Conversion.DeepCopy()
	}
	return settled
}

func keepStorage(opening, live *apiextensionsv1.CustomResourceDefinition) {
	stored := slices.IndexFunc(live.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Storage })
	if stored < 0 || !slices.ContainsFunc(opening.Spec.Versions, named(live.Spec.Versions[stored].Name)) {
		return
	}
	for i := range opening.Spec.Versions {
		v := &opening.Spec.Versions[i]
		v.Storage = v.Name == live.Spec.Versions[stored].Name
	}
}

func named(name string) func(apiextensionsv1.CustomResourceDefinitionVersion) bool {
	return func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == name }
}

func webhookConverts(crd *apiextensionsv1.CustomResourceDefinition) bool {
	return crd.Spec.Conversion != nil && crd.Spec.Conversion.Strategy == apiextensionsv1.WebhookConverter
}

// declared is the conversion of a definition that a ClusterServiceVersion declares.
func declared(csv *operatorsv1alpha1.ClusterServiceVersion, crd string) *operatorsv1alpha1.WebhookDescription {
	for i, d := range csv.Spec.WebhookDefinitions {
		if d.Type == operatorsv1alpha1.ConversionWebhook && slices.Contains(d.ConversionCRDs, crd) {
			return &csv.Spec.WebhookDefinitions[i]
		}
	}
	return nil
}

// placeholder names the Service that the webhook will have. Nobody trusts it yet.
func placeholder(csv *operatorsv1alpha1.ClusterServiceVersion, d operatorsv1alpha1.WebhookDescription) *apiextensionsv1.CustomResourceConversion {
	return &apiextensionsv1.CustomResourceConversion{
		Strategy: apiextensionsv1.WebhookConverter,
		Webhook: &apiextensionsv1.WebhookConversion{
			ClientConfig: &apiextensionsv1.WebhookClientConfig{Service: &apiextensionsv1.ServiceReference{
				Namespace: csv.Namespace, Name: install.ServiceName(csv, d.DeploymentName, false, false), Path: d.WebhookPath,
			}},
			ConversionReviewVersions: d.AdmissionReviewVersions,
		},
	}
}

func merged(under, over map[string]string) map[string]string {
	all := map[string]string{}
	for _, m := range []map[string]string{under, over} {
		for k, v := range m {
			all[k] = v
		}
	}
	return all
}

// Refusals say why a definition cannot become the next: what of the objects that are
// stored would be lost. Each names the way out.
func Refusals(live, next *apiextensionsv1.CustomResourceDefinition) []string {
	if live == nil {
		return nil
	}
	var refusals []string
	if live.Spec.Scope != next.Spec.Scope {
		refusals = append(refusals, fmt.Sprintf("CustomResourceDefinition %s: spec.scope cannot change from %s to %s: give the new version another kind", live.Name, live.Spec.Scope, next.Spec.Scope))
	}
	for _, stored := range live.Status.StoredVersions {
		if !slices.ContainsFunc(next.Spec.Versions, named(stored)) {
			refusals = append(refusals, fmt.Sprintf("CustomResourceDefinition %s: version %s vanishes, and status.storedVersions says that objects may be stored in it: "+
				"write every object once more in a version that stays (kubectl get %s -A -o json | kubectl replace -f -), then take %s out of status.storedVersions with kubectl edit --subresource=status",
				live.Name, stored, live.Name, stored))
		}
	}
	return refusals
}
