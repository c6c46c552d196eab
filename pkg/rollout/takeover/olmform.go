package takeover

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// MadeByOLM reports whether a live Deployment is what olm-operator makes of the CSV now. As for olm-operator, the hash in a
// label decides: it shows every change of the CSV, and admission does not change it. The hash of the CA is that of the pods.
func MadeByOLM(in render.Input, spec operatorsv1alpha1.StrategyDeploymentSpec, live *appsv1.Deployment) bool {
	if live.Spec.Template.Labels[wellknown.LabelCSV] != "" {
		return false
	}
	made := computed(in, spec, live, caHashOf(live))
	return live.Labels[wellknown.LabelDeploymentHash] == made.Labels[wellknown.LabelDeploymentHash] || Input{Input: in}.recorded(spec, live)
}

// Reverted returns the fields of spec in which a live Deployment that olm-operator made differs from what it wrote, without
// what admission changed. While it is held, the manager writes them again.
func Reverted(in render.Input, spec operatorsv1alpha1.StrategyDeploymentSpec, live *appsv1.Deployment) []string {
	made := Input{Input: in}.adopted(spec, live)
	fields := drift.Of(drift.WithLiveReplicas(live, made), live).Fields
	return slices.DeleteFunc(fields, func(field string) bool { return !strings.HasPrefix(field, "spec.") })
}

// computed returns what olm-operator made. An annotation that the manager or kubectl reads counts as the pods have it: an
// administrator may have set it since, and a change of it needs no rollout.
func computed(in render.Input, spec operatorsv1alpha1.StrategyDeploymentSpec, live *appsv1.Deployment, caHash string) *appsv1.Deployment {
	pods := live.Spec.Template.Annotations
	csv := *in.CSV
	csv.Annotations = asIn(pods, csv.Annotations)
	delete(csv.Annotations, corev1.LastAppliedConfigAnnotation)
	if applied, copied := pods[corev1.LastAppliedConfigAnnotation]; copied {
		csv.Annotations[corev1.LastAppliedConfigAnnotation] = applied
	}
	in.CSV, in.Config.Annotations = &csv, asIn(pods, in.Config.Annotations)
	return render.OLMDeployment(in, spec, caHash)
}

// asIn returns annotations. One that the manager reads has the value that the pods have, or is missing as in the pods.
func asIn(pods, annotations map[string]string) map[string]string {
	all := map[string]string{}
	for key, value := range annotations {
		copied, exists := pods[key]
		switch {
		case !strings.HasPrefix(key, wellknown.AnnotationPrefix):
			all[key] = value
		case exists:
			all[key] = copied
		}
	}
	return all
}

// recorded reports whether the Deployment was given back in this form.
func (in Input) recorded(spec operatorsv1alpha1.StrategyDeploymentSpec, live *appsv1.Deployment) bool {
	record := live.Annotations[wellknown.AnnotationTakeoverForm]
	return record != "" && record == recordOf(in.Input, spec, live)
}

func recordOf(in render.Input, spec operatorsv1alpha1.StrategyDeploymentSpec, live *appsv1.Deployment) string {
	return computed(in, spec, live, "").Labels[wellknown.LabelDeploymentHash]
}

func caHashOf(d *appsv1.Deployment) string {
	return d.Spec.Template.Annotations[wellknown.AnnotationCAHash]
}

// adopted returns the form of olm-operator. Only a restart for a certificate changes it, and then the hash in its label, too.
func (in Input) adopted(spec operatorsv1alpha1.StrategyDeploymentSpec, live *appsv1.Deployment) *appsv1.Deployment {
	trust := in.Trust[spec.Name]
	d := computed(in.Input, spec, live, cmp.Or(trust.CAHash, caHashOf(live)))
	if caHashOf(d) == caHashOf(live) {
		d.Labels[wellknown.LabelDeploymentHash] = live.Labels[wellknown.LabelDeploymentHash]
	}
	if record, recorded := live.Annotations[wellknown.AnnotationTakeoverForm]; recorded {
		d.Annotations = labels.Merge(d.Annotations, labels.Set{wellknown.AnnotationTakeoverForm: record})
	}
	render.WriteOutListDefaults(&d.Spec.Template.Spec)
	restartFor(d, trust)
	if found := drift.Of(d, live); found.By != "" && found.By == creator(live) {
		return in.kept(live, d) // Admission has changed what olm-operator wrote.
	}
	return d
}

func restartFor(d *appsv1.Deployment, trust render.Trust) {
	pods := &d.Spec.Template
	if trust.RestartedFor != "" {
		pods.Annotations = labels.Merge(pods.Annotations, map[string]string{wellknown.AnnotationRestartedFor: trust.RestartedFor})
	}
	if trust.CAHash != "" {
		pods.Annotations = labels.Merge(pods.Annotations, map[string]string{wellknown.AnnotationCAHash: trust.CAHash})
	}
}

// creator returns the client that created a Deployment: no other client can write the selector.
func creator(live *appsv1.Deployment) string {
	selector := fieldpath.NewSet()
	for key := range live.Spec.Selector.MatchLabels {
		selector.Insert(fieldpath.MakePathOrDie("spec", "selector"))
		selector.Insert(fieldpath.MakePathOrDie("spec", "selector", "matchLabels", key))
	}
	return drift.LastWriter(live, selector)
}

// kept returns a Deployment with the live spec, and the labels and restarts of another form.
func (in Input) kept(live, form *appsv1.Deployment) *appsv1.Deployment {
	kept := form.DeepCopy()
	kept.Spec = *live.Spec.DeepCopy()
	kept.Annotations = maps.Clone(live.Annotations)
	restartFor(kept, in.Trust[live.Name])
	if caHashOf(kept) == caHashOf(live) {
		kept.Labels = labels.Merge(kept.Labels, labels.Set{wellknown.LabelDeploymentHash: live.Labels[wellknown.LabelDeploymentHash]})
	}
	return kept
}
