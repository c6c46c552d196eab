package cluster

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/groupkind"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/takeover"
)

var clusterVersions = schema.GroupVersionResource{Group: "config.openshift.io", Version: "v1", Resource: "clusterversions"}

// olmScaledBy returns the client that would start olm-operator again; empty if there is none.
func (c TakeoverReader) olmScaledBy(ctx context.Context, s *takeover.Snapshot, d *appsv1.Deployment) (string, error) {
	overridden, exists, err := c.overridden(ctx, s, d)
	switch {
	case err != nil:
		return "", err
	case exists && !overridden:
		return "the Cluster Version Operator of OpenShift (ClusterVersion version has no override with unmanaged: true for it)", nil
	}
	if !overridden && slices.ContainsFunc(slices.Collect(maps.Keys(d.Annotations)), isOfRelease) {
		return "the Cluster Version Operator of OpenShift (annotations include.release.openshift.io)", nil
	}
	if by := appliedBy(d); by != "" {
		return by, nil
	}
	return c.autoscaled(ctx, s, d)
}

// appliedBy returns the client that reverts a change of the replicas of a Deployment, as the Deployment shows it; empty if
// there is none.
func appliedBy(d *appsv1.Deployment) string {
	if owner := metav1.GetControllerOf(d); owner != nil {
		return fmt.Sprintf("the owner, %s %s,", groupkind.OfOwner(*owner), owner.Name)
	}
	for _, mark := range marksOfGitOps {
		if d.Labels[mark.key]+d.Annotations[mark.key] != "" {
			return mark.client + " (" + mark.key + ")"
		}
	}
	if scalers := takeover.ScalersOf(d.ManagedFields); len(scalers) > 0 {
		return strings.Join(scalers, ", ") + " (metadata.managedFields)"
	}
	return ""
}

// autoscaled returns the autoscaler of a Deployment. With 0 replicas, it does not change them.
func (c TakeoverReader) autoscaled(ctx context.Context, s *takeover.Snapshot, d *appsv1.Deployment) (string, error) {
	autoscalers, err := c.Kube.AutoscalingV2().HorizontalPodAutoscalers(d.Namespace).List(ctx, metav1.ListOptions{})
	if apierrors.IsForbidden(err) {
		s.NotChecked = append(s.NotChecked, fmt.Sprintf("whether a HorizontalPodAutoscaler scales Deployment %s/%s: the user needs the permission to list them", d.Namespace, d.Name))
		return "", nil
	}
	if err != nil {
		return "", err
	}
	for _, a := range autoscalers.Items {
		if target := a.Spec.ScaleTargetRef; target.Kind == "Deployment" && target.Name == d.Name {
			return "HorizontalPodAutoscaler " + a.Name, nil
		}
	}
	return "", nil
}

// isOfRelease reports whether an annotation marks an object of a release of OpenShift.
func isOfRelease(annotation string) bool {
	return strings.HasPrefix(annotation, "include.release.openshift.io/")
}

// marksOfGitOps are labels and annotations by which a client marks the objects that it applies.
var marksOfGitOps = []struct{ key, client string }{
	{"argocd.argoproj.io/tracking-id", "Argo CD"},
	{"argocd.argoproj.io/instance", "Argo CD"},
	{"kustomize.toolkit.fluxcd.io/name", "Flux"},
	{"helm.toolkit.fluxcd.io/name", "Flux"},
}

// overridden reports whether OpenShift's ClusterVersion exists, and whether it leaves a Deployment unmanaged.
func (c TakeoverReader) overridden(ctx context.Context, s *takeover.Snapshot, d *appsv1.Deployment) (unmanaged, exists bool, err error) {
	version, err := c.Dynamic.Resource(clusterVersions).Get(ctx, "version", metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err): // the object, or the kind
		return false, false, nil
	case apierrors.IsForbidden(err):
		unknown, err := c.isUnknownKind(ctx, err, clusterVersions)
		if !unknown && apierrors.IsForbidden(err) {
			s.NotChecked = append(s.NotChecked, "whether OpenShift starts olm-operator again: the user needs the permission to get clusterversions.config.openshift.io")
		}
		return false, false, utilerrors.FilterOut(err, apierrors.IsForbidden)
	case err != nil:
		return false, false, err
	}
	overrides, _, _ := unstructured.NestedSlice(version.Object, "spec", "overrides")
	return slices.ContainsFunc(overrides, func(item any) bool {
		o, is := item.(map[string]any)
		return is && o["kind"] == "Deployment" && o["namespace"] == d.Namespace && o["name"] == d.Name && o["unmanaged"] == true
	}), true, nil
}
