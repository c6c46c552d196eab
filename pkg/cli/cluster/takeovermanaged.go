package cluster

import (
	"context"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/takeover"
)

var deployments = appsv1.SchemeGroupVersion.WithResource("deployments")

// managersForms finds the ClusterServiceVersions with Deployments in the manager's own form. Those without webhooks may
// have no WebhookRollout that shows it.
func (c TakeoverReader) managersForms(ctx context.Context, s *takeover.Snapshot) error {
	list, err := c.Metadata.Resource(deployments).List(ctx, metav1.ListOptions{LabelSelector: labels.Set{wellknown.LabelManaged: "true"}.String()})
	if err != nil {
		return err
	}
	managers := map[string][]metav1.PartialObjectMetadata{}
	for _, d := range list.Items {
		if isManagers(d.Annotations) {
			managers[d.Namespace] = append(managers[d.Namespace], d)
		}
	}
	for i, csv := range s.CSVs {
		s.CSVs[i].InManagersForm = slices.ContainsFunc(managers[csv.Namespace], func(d metav1.PartialObjectMetadata) bool { return ownedBy(d.ObjectMeta, csv) })
	}
	return nil
}

// isManagers reports whether the annotations of a Deployment show that the manager wrote it, and has not given it back.
func isManagers(annotations map[string]string) bool {
	_, written := annotations[wellknown.AnnotationReplicas]
	_, returned := annotations[wellknown.AnnotationTakeoverForm]
	return written && !returned
}
