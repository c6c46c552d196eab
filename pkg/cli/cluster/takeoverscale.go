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

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/groupkind"
)

var clusterVersions = schema.GroupVersionResource{Group: "config.openshift.io", Version: "v1", Resource: "clusterversions"}

// scaledBy returns the client that would revert a change of the replicas of a Deployment; empty if there is none.
func (c TakeoverReader) scaledBy(ctx context.Context, d *appsv1.Deployment) (string, error) {
	overridden, exists, err := c.overridden(ctx, d)
	switch {
	case err != nil:
		return "", err
	case exists && !overridden:
		return "the Cluster Version Operator of OpenShift (ClusterVersion version has no override with unmanaged: true for it)", nil
	}
	if !overridden && slices.ContainsFunc(slices.Collect(maps.Keys(d.Annotations)), isOfRelease) {
		return "the Cluster Version Operator of OpenShift (annotations include.release.openshift.io)", nil
	}
	if owner := metav1.GetControllerOf(d); owner != nil {
		return fmt.Sprintf("the owner, %s %s,", groupkind.OfOwner(*owner), owner.Name), nil
	}
	for _, mark := range marksOfGitOps {
		if d.Labels[mark.key]+d.Annotations[mark.key] != "" {
			return mark.client, nil
		}
	}
	autoscalers, err := c.Kube.AutoscalingV2().HorizontalPodAutoscalers(d.Namespace).List(ctx, metav1.ListOptions{})
	if apierrors.IsForbidden(err) {
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
func (c TakeoverReader) overridden(ctx context.Context, d *appsv1.Deployment) (unmanaged, exists bool, err error) {
	version, err := c.Dynamic.Resource(clusterVersions).Get(ctx, "version", metav1.GetOptions{})
	if err != nil {
		if apierrors.IsNotFound(err) { // of the object, or of the kind
			return false, false, nil
		}
		return false, false, err
	}
	overrides, _, _ := unstructured.NestedSlice(version.Object, "spec", "overrides")
	return slices.ContainsFunc(overrides, func(item any) bool {
		o, is := item.(map[string]any)
		return is && o["kind"] == "Deployment" && o["namespace"] == d.Namespace && o["name"] == d.Name && o["unmanaged"] == true
	}), true, nil
}
