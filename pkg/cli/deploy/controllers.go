package deploy

import (
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/leader"
)

const labelName, labelApp = "app.kubernetes.io/name", "app"

// olmDeployments are the Deployments of OLM v0. The label app of their pods has the same value.
var olmDeployments = []string{"olm-operator", "catalog-operator", "packageserver"}

// ControllerIn returns the manager or the part of OLM v0 that these Deployments and Leases of a namespace show; empty for
// none. Its ServiceAccount has permissions in the whole cluster, and every pod of the namespace may use that account. A
// Deployment without replicas has the account, too.
func ControllerIn(deployments []appsv1.Deployment, leases []coordinationv1.Lease, now time.Time) string {
	for _, d := range deployments {
		pods := d.Spec.Template.Labels
		isManager := d.Labels[labelName] == wellknown.FieldManager || pods[labelName] == wellknown.FieldManager
		if isManager || slices.Contains(olmDeployments, d.Name) && pods[labelApp] == d.Name {
			return "Deployment " + d.Name
		}
	}
	for _, l := range leases {
		if l.Name == wellknown.FieldManager && leader.Held(l, now) {
			return fmt.Sprintf("the holder of Lease %s (%s)", l.Name, *l.Spec.HolderIdentity)
		}
	}
	return ""
}
