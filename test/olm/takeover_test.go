package olm

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/crdconversion/convert"
	"github.com/olm-webhook-manager/olm-webhook-manager/examples/crdconversion/test/caches"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmoperator/crdpolicy/policy"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/calls"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/olm/catalog"
)

const (
	managerNamespace, managerName = "olm-webhook-manager", "olm-webhook-manager"
	olmOperator                   = "olm-operator"
)

// The steps of docs/admin/with-olm.md: an operator that olm-operator installed is adopted by the manager, upgraded from
// the catalog, and returned to olm-operator.
func TestTakeoverAndBack(t *testing.T) {
	e, o := newExample(t, "volumelabels")
	e.Cleanup(func() { e.works("manager") })
	e.works("olm")
	v1 := e.example(o.bundle).Release("0.1.0")
	v2 := v1.Release("0.2.0")
	e.serve(catalog.Package{
		Name: v1.Package, DefaultChannel: "new", Bundles: []catalog.Bundle{v1, v2},
		Channels: []catalog.Channel{catalog.Chain("old", v1), catalog.Chain("new", v1, v2)},
	})
	e.subscribe(operatorsv1alpha1.SubscriptionSpec{Package: v1.Package, Channel: "old"})
	e.installs(v1.Package, v1.Name())
	load := o.load(e)
	load.GoesOn(o.answer)

	e.worksOn(v1.Name(), "manager")
	nothingElseWrites(e, v1.Name())
	load.GoesOn(o.answer)
	load.End(calls.Never)

	load = calls.Start(e, between, o.call)
	e.changes(v1.Package, map[string]any{"channel": "new"})
	e.installs(v1.Package, v2.Name())
	e.isGone(v1.Name())
	load.GoesOn(o.answer)
	load.End(calls.Never)

	load = calls.Start(e, between, o.call)
	certificate := e.servingCertificates()
	e.worksOn(v2.Name(), "olm")
	installtest.Same(t, "certificates after the return", certificate, e.servingCertificates())
	load.GoesOn(o.answer)
	load.End(calls.Never)
}

// The same for an operator that converts, without an upgrade.
func TestTakeoverOfAConversion(t *testing.T) {
	e := newEnv(t, "crdconversion", operatorsv1.OperatorGroupSpec{})
	e.Cleanup(func() { e.works("manager") })
	e.works("olm")
	v2 := e.example("crdconversion/bundle-v2")
	e.serve(packageOf(catalog.Chain(stable, v2), v2))
	client := &caches.Client{Dynamic: dynamicClient, Namespace: "default"}
	e.subscribe(operatorsv1alpha1.SubscriptionSpec{Package: v2.Package, Channel: stable})
	e.installs(v2.Package, v2.Name())
	e.staysSucceeded(v2.Name())
	e.Cleanup(func() { removeCaches(e, client) })
	e.convertsCaches(client)
	createCache(e, client, caches.New(convert.V1, "sessions", map[string]any{"size": "3x512Mi"}))

	load := calls.Start(t, between, client.Reads(t, caches.Authored, caches.Versions, "sessions"))
	load.GoesOn(calls.Converted)
	e.worksOn(v2.Name(), "manager")
	load.GoesOn(calls.Converted)

	certificate := e.servingCertificates()
	e.worksOn(v2.Name(), "olm")
	installtest.Same(t, "certificates after the return", certificate, e.servingCertificates())
	load.GoesOn(calls.Converted)
	load.End(calls.Never)
}

// servingCertificates are the certificates of the Secrets of webhooks, by the names of these.
func (e *env) servingCertificates() map[string]string {
	e.Helper()
	certificates := map[string]string{}
	for _, s := range kube.List(e, kubeClient.CoreV1().Secrets(e.namespace), metav1.ListOptions{FieldSelector: "type=" + string(corev1.SecretTypeTLS)}).Items {
		certificates[s.Name] = string(s.Data[corev1.TLSCertKey])
	}
	return certificates
}

// nothingElseWrites runs the checks of docs/admin/with-olm.md.
func nothingElseWrites(e *env, csv string) {
	e.Helper()
	page, err := os.ReadFile("../../docs/admin/with-olm.md")
	e.must(err)
	_, section, _ := strings.Cut(string(page), "\n## Check that nothing else writes CSVs\n")
	section, _, _ = strings.Cut(section, "\n## ")
	blocks := strings.Split(section, "```sh\n")[1:]
	if len(blocks) != 2 {
		e.Fatalf("the page has %d checks, want 2", len(blocks))
	}
	installtest.Same(e, "replicas of olm-operator", "0", e.shell(blocks[0]))
	var last string
	for line := range strings.Lines(e.shell(blocks[1])) {
		if writers, found := strings.CutPrefix(line, e.namespace+"/"+csv+" "); found {
			last = lastWriter(e, strings.Fields(writers))
		}
	}
	installtest.Same(e, "last writer of the status", managerName, last)
}

// shell runs the command of a block of the documentation.
func (e *env) shell(block string) string {
	e.Helper()
	command, _, _ := strings.Cut(block, "```")
	output, err := exec.CommandContext(e.ctx, "sh", "-c", command).CombinedOutput()
	if err != nil {
		e.Fatalf("%s: %v\n%s", command, err, output)
	}
	return string(output)
}

// lastWriter returns the client with the latest time in a list of clients and times.
func lastWriter(e *env, fields []string) (writer string) {
	e.Helper()
	var latest time.Time
	for pair := range slices.Chunk(fields, 2) {
		written, err := time.Parse(time.RFC3339, pair[1])
		e.must(err)
		if written.After(latest) {
			writer, latest = pair[0], written
		}
	}
	return writer
}

// staysSucceeded waits until a version has been Succeeded for some seconds. olm-operator can install a version that converts
// again, with another CA, after it has succeeded, and calls fail until the pods serve the certificate of that CA.
func (e *env) staysSucceeded(csv string) {
	e.Helper()
	e.eventually(csv+" stays Succeeded", func() (bool, any) {
		status := kube.Get(e, olmClient.ClusterServiceVersions(e.namespace), csv).Status
		return status.Phase == operatorsv1alpha1.CSVPhaseSucceeded && time.Since(status.LastTransitionTime.Time) > 10*time.Second, status.Phase
	})
}

// works has either the manager or olm-operator work, and returns when the other has no pods. The policy for definitions is
// deleted with the manager, as docs/admin/with-olm.md does: it would hold the versions that an InstallPlan brings.
func (e *env) works(which string) {
	e.Helper()
	if which == "olm" {
		e.scale(managerNamespace, managerName, 0)
		if err := kubeClient.AdmissionregistrationV1().MutatingAdmissionPolicies().Delete(e.ctx, policy.Name, metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
			e.must(err)
		}
		e.scale(olmNamespace, olmOperator, 1)
		return
	}
	e.scale(olmNamespace, olmOperator, 0)
	e.scale(managerNamespace, managerName, 2)
}

// worksOn has either the manager or olm-operator work, and returns when it has written the status of a version that succeeds.
func (e *env) worksOn(csv, which string) {
	e.Helper()
	since, writer := time.Now(), which
	if which == "manager" {
		writer = managerName
	}
	e.works(which)
	e.writesStatus(csv, writer, since)
	e.succeeds(csv)
}

// scale returns when the Deployment has this number of pods, all available.
func (e *env) scale(namespace, deployment string, replicas int32) {
	e.Helper()
	e.ctx = context.WithoutCancel(e.ctx)
	client := kubeClient.AppsV1().Deployments(namespace)
	kube.Patch(e, client, deployment, types.MergePatchType, fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas))
	e.eventually(fmt.Sprintf("Deployment %s has %d pods", deployment, replicas), func() (bool, any) {
		d := kube.Get(e, client, deployment)
		pods := kube.List(e, kubeClient.CoreV1().Pods(namespace), metav1.ListOptions{LabelSelector: metav1.FormatLabelSelector(d.Spec.Selector)}).Items
		return d.Status.ObservedGeneration == d.Generation && d.Status.AvailableReplicas == replicas && len(pods) == int(replicas), d.Status
	})
}

// writesStatus waits until a client has written the status of a version since a time.
func (e *env) writesStatus(csv, client string, since time.Time) {
	e.Helper()
	e.eventually(fmt.Sprintf("%s writes the status of %s", client, csv), func() (bool, any) {
		fields := kube.Get(e, olmClient.ClusterServiceVersions(e.namespace), csv).ManagedFields
		return slices.ContainsFunc(fields, func(f metav1.ManagedFieldsEntry) bool {
			return f.Subresource == "status" && strings.HasPrefix(f.Manager, client) && !f.Time.Time.Before(since.Truncate(time.Second))
		}), fields
	})
}
