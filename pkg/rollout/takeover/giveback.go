package takeover

import (
	"crypto/sha256"
	"encoding/hex"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/labels"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
)

// givenBack returns a Deployment that olm-operator accepts. olm-operator compares the hash in its label, with the CA of the
// registrations, and requires the annotations of the CSV in its pod template. It does not compare the rest of the spec: pods
// stay as they are, unless they have to be replaced anyway. Then they get olm-operator's form.
func (in Input) givenBack(spec operatorsv1alpha1.StrategyDeploymentSpec, live *appsv1.Deployment, d render.Deployment) (object *appsv1.Deployment, adopted bool) {
	made := in.expected(spec)
	if !in.current(spec, live, d) || in.restarts(spec, live) {
		render.WriteOutListDefaults(&made.Spec.Template.Spec)
		if restarted := in.Trust[spec.Name].RestartedFor; restarted != "" {
			made.Spec.Template.Annotations[wellknown.AnnotationRestartedFor] = restarted
		}
		return made, true
	}
	accepted := live.DeepCopy()
	accepted.ManagedFields, accepted.ResourceVersion = nil, ""
	accepted.ObjectMeta = d.Object.ObjectMeta
	accepted.Labels = labels.Merge(d.Object.Labels, labels.Set{wellknown.LabelDeploymentHash: made.Labels[wellknown.LabelDeploymentHash]})
	accepted.Annotations = labels.Merge(live.Annotations, labels.Set{wellknown.AnnotationTakeoverForm: recordOf(in.Input, spec, live)})
	return accepted, d.Adopted
}

// current reports whether the live Deployment was made for the CSV as it is now.
func (in Input) current(spec operatorsv1alpha1.StrategyDeploymentSpec, live *appsv1.Deployment, d render.Deployment) bool {
	return d.Adopted || in.recorded(spec, live) || live.Labels[wellknown.LabelDeploymentHash] == d.Object.Labels[wellknown.LabelDeploymentHash]
}

// restarts reports whether olm-operator or a certificate requires other pods: olm-operator compares the hash of the CA in
// the pod template only for servers of APIServices.
func (in Input) restarts(spec operatorsv1alpha1.StrategyDeploymentSpec, live *appsv1.Deployment) bool {
	trust := in.Trust[spec.Name]
	if trust.CAHash != "" && trust.CAHash != caHashOf(live) {
		return true
	}
	if len(csvspec.ServedAPIServices(in.CSV, spec.Name)) > 0 && caHashOf(live) != BundleHash(trust.CABundle) {
		return true
	}
	return len(LackedAnnotations(in.CSV.Annotations, live)) > 0
}

// LackedAnnotations returns the names of the annotations of a CSV that a pod template lacks, sorted. olm-operator requires
// them. Requests are removed from the CSV.
func LackedAnnotations(ofCSV map[string]string, live *appsv1.Deployment) []string {
	var all []string
	for key, value := range ofCSV {
		if current, copied := live.Spec.Template.Annotations[key]; !IsRequest(key) && (!copied || current != value) {
			all = append(all, key)
		}
	}
	return lists.Sorted(all)
}

// IsRequest reports whether an annotation of a CSV is a request of an administrator to the manager. olm-operator would copy
// it into pod templates.
func IsRequest(annotation string) bool {
	return annotation == wellknown.AnnotationRotate || annotation == wellknown.AnnotationForceConversion
}

// expected returns what olm-operator will compare with.
func (in Input) expected(spec operatorsv1alpha1.StrategyDeploymentSpec) *appsv1.Deployment {
	csv := *in.CSV
	csv.Annotations = WithoutRequests(csv.Annotations)
	of := in.Input
	of.CSV = &csv
	return render.OLMDeployment(of, spec, BundleHash(in.Trust[spec.Name].CABundle))
}

// WithoutRequests returns the annotations of a CSV that is given back.
func WithoutRequests(annotations map[string]string) map[string]string {
	kept := map[string]string{}
	for key, value := range annotations {
		if !IsRequest(key) {
			kept[key] = value
		}
	}
	return kept
}

// BundleHash returns the hash of a caBundle that olm-operator computes, hexadecimal.
func BundleHash(caBundle []byte) string {
	sum := sha256.Sum256(caBundle)
	return hex.EncodeToString(sum[:])
}
