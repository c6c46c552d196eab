package csvmetrics

import (
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// labels are the values of OLM v0's labels for one ClusterServiceVersion.
type labels struct {
	namespace, name, version string
	phase, reason            string // of csv_abnormal only
}

// labelsOf returns the labels of a ClusterServiceVersion, and whether its phase is Succeeded. With any other phase, it
// has the series csv_abnormal, too.
func labelsOf(csv *operatorsv1alpha1.ClusterServiceVersion) (of labels, succeeded bool) {
	of = labels{
		namespace: csv.Namespace, name: csv.Name, version: csv.Spec.Version.String(),
		phase: string(csv.Status.Phase), reason: string(csv.Status.Reason),
	}
	return of, csv.Status.Phase == operatorsv1alpha1.CSVPhaseSucceeded
}

// upgradeBegins reports whether a change of a ClusterServiceVersion is what OLM v0 counts as an upgrade.
func upgradeBegins(before, after *operatorsv1alpha1.ClusterServiceVersion) bool {
	return before.Status.Phase != operatorsv1alpha1.CSVPhaseReplacing && after.Status.Phase == operatorsv1alpha1.CSVPhaseReplacing
}
