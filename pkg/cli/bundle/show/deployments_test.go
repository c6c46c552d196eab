package show

import (
	"strings"
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// Pods of every workload of a bundle are shown as those of the CSV: account, images, host access and Secrets.
func TestPodsOfWorkloads(t *testing.T) {
	const pod = `{serviceAccountName: other, hostPID: true, priorityClassName: system-node-critical, volumes: [{name: a, secret: {secretName: other-tls}}], containers: [{name: c, image: a}]}`
	const template = `{metadata: {labels: {a: b}}, spec: ` + pod + `}`
	for kind, text := range map[string]string{
		"Pod":                   `{apiVersion: v1, kind: Pod, spec: ` + pod,
		"PodTemplate":           `{apiVersion: v1, kind: PodTemplate, template: ` + template,
		"ReplicationController": `{apiVersion: v1, kind: ReplicationController, spec: {template: ` + template + `}`,
		"Deployment":            `{apiVersion: apps/v1, kind: Deployment, spec: {template: ` + template + `}`,
		"DaemonSet":             `{apiVersion: apps/v1, kind: DaemonSet, spec: {template: ` + template + `}`,
		"StatefulSet":           `{apiVersion: apps/v1, kind: StatefulSet, spec: {template: ` + template + `}`,
		"ReplicaSet":            `{apiVersion: apps/v1, kind: ReplicaSet, spec: {template: ` + template + `}`,
		"Job":                   `{apiVersion: batch/v1, kind: Job, spec: {template: ` + template + `}`,
		"CronJob":               `{apiVersion: batch/v1, kind: CronJob, spec: {jobTemplate: {spec: {template: ` + template + `}}}`,
	} {
		object := parsed(t, text+`, metadata: {name: w, namespace: shop}}`)
		const namespace, csv = "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}", "{apiVersion: operators.coreos.com/v1alpha1, kind: ClusterServiceVersion, metadata: {name: shop.v1}}"
		got := strings.Join(strings.Fields(printed(t, namespace, csv, object)), " ")
		installtest.Contains(t, got,
			kind+" w other a hostPID",
			"what ServiceAccount shop/other may do, which the bundle does not bring",
			"other shop mount Secrets other-tls",
			"other cluster preempt other pods (priorityClassName system-node-critical)")
		installtest.Same(t, "how often the "+kind+" is shown", 1, strings.Count(got, "w other"))
	}
}
