package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/calls"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

const (
	policyNamespace = "projectpolicy"
	policyCSV       = "projectpolicy.v0.1.0"
	policyFiles     = "examples/projectpolicy"
)

// The example bundle, installed, used and removed as its README says.
func TestProjectPolicy(t *testing.T) {
	older := newBareEnv(t)
	before := older.restingCluster()
	e := &env{T: t, ctx: t.Context(), namespace: policyNamespace, began: metav1.Now()}
	e.Cleanup(func() {
		e.ctx = context.WithoutCancel(e.ctx)
		if e.Failed() {
			e.explain()
		}
		e.must(removeProjectPolicy(e.ctx))
	})

	e.kubectl("apply", "--server-side", "-k", policyFiles)
	e.succeeds(policyCSV)
	e.kubectl("apply", "-f", policyFiles+"/samples/projectpolicy.yaml")
	e.kubectl("wait", "projectpolicy/shared-cluster", "--for=condition=Valid")
	bothServersKnow(e)

	isDenied(e, "shop")
	e.kubectl("apply", "-f", policyFiles+"/samples/namespace-allowed.yaml")
	for _, value := range []string{`"nothing"`, `null`} {
		patch := fmt.Sprintf(`{"metadata":{"annotations":{"e2e.example.com/changes":%s}}}`, value)
		_, err := kubeClient.CoreV1().Namespaces().Patch(e.ctx, older.namespace, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		if err != nil {
			t.Errorf("a namespace older than the policy was changed in nothing that the policy is about, and that was denied: %v", err)
		}
	}

	restartsUnderLoad(e, "projectpolicy-webhook")

	deletePods(e)
	e.eventually("two other pods serve", func() (bool, any) {
		pods := e.pods()
		ready := installtest.Count(pods, isReady)
		return len(pods) == 2 && ready == 2, ready
	})
	e.webhookIs(policyCSV, managerv1alpha1.WebhookRegistered, "Serving")
	e.succeeds(policyCSV)
	isDenied(e, "shop")

	e.must(removeProjectPolicy(e.ctx))
	older.clusterIs(before)
}

// restartsUnderLoad replaces a hosting server's pods one after the other while it is
// called a hundred times a second, failurePolicy Fail: every call is answered.
func restartsUnderLoad(e *env, deployment string) {
	e.Helper()
	load := calls.Start(e, 10*time.Millisecond, e.askForShop)
	load.GoesOn(calls.Denied)
	restart(e, deployment)
	load.GoesOn(calls.Denied)
	load.End(calls.Never)
}

// askForShop asks for a namespace that breaks the policy, without one being made.
func (e *env) askForShop(ctx context.Context) calls.Call {
	c := calls.Call{Sent: time.Now(), Outcome: calls.Denied}
	shop := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	_, c.Err = kubeClient.CoreV1().Namespaces().Create(ctx, shop, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	c.Answered = time.Now()
	switch {
	case c.Err == nil:
		c.Outcome = calls.Uncovered
	case !strings.Contains(c.Err.Error(), "does not comply with ProjectPolicy"):
		c.Outcome = calls.Failed
	}
	return c
}

// bothServersKnow waits until the policy is enforced: one server reports that it is valid, and the other may observe it later.
func bothServersKnow(e *env) {
	e.Helper()
	answersInARow(e, calls.Denied, e.askForShop)
}

// answersInARow waits until twenty calls in a row have the outcome, so that both servers of an operator gave it.
func answersInARow(e *env, want calls.Outcome, do func(context.Context) calls.Call) {
	e.Helper()
	inRow := 0
	e.eventually("twenty calls in a row are "+want.String(), func() (bool, any) {
		c := do(e.ctx)
		if inRow++; c.Outcome != want {
			inRow = 0
		}
		return inRow == 20, c.Err
	})
}

// isDenied asks for the namespace of the sample that breaks the policy in every way,
// until it is answered: a Service's address may lag behind its pods.
func isDenied(e *env, name string) {
	e.Helper()
	e.eventually("the policy's webhook answers", func() (bool, any) {
		output, err := kubectl(e.ctx, "apply", "-f", policyFiles+"/samples/namespace-denied.yaml")
		if err == nil {
			e.Fatalf("a namespace that breaks the policy was allowed: %s", output)
		}
		for _, part := range []string{
			fmt.Sprintf("namespace %q does not comply with ProjectPolicy %q", name, "shared-cluster"),
			"metadata.name is", "metadata.labels[team] is missing", "metadata.labels[cost-centre] is",
		} {
			if !strings.Contains(err.Error(), part) {
				return false, err
			}
		}
		return true, err
	})
}

func (e *env) pods() []corev1.Pod {
	e.Helper()
	pods := kube.List(e, kubeClient.CoreV1().Pods(e.namespace), metav1.ListOptions{})
	return pods.Items
}

func deletePods(e *env) {
	e.Helper()
	e.must(kubeClient.CoreV1().Pods(e.namespace).DeleteCollection(e.ctx, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}, metav1.ListOptions{}))
}

func (e *env) kubectl(arguments ...string) {
	e.Helper()
	_, err := kubectl(e.ctx, arguments...)
	e.must(err)
}

// kubectl runs from the root of the checkout, where the READMEs run it.
func kubectl(ctx context.Context, arguments ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "kubectl", arguments...)
	cmd.Dir = "../.."
	var errors bytes.Buffer
	cmd.Stderr = &errors
	output, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("kubectl %s: %w: %s", strings.Join(arguments, " "), err, errors.String())
	}
	return string(output), nil
}

func removeProjectPolicy(ctx context.Context) error {
	for _, arguments := range [][]string{
		{"delete", "-n", policyNamespace, "csv/" + policyCSV, "--wait", "--ignore-not-found"},
		{"delete", "-k", policyFiles, "--ignore-not-found"},
		{"delete", "-f", policyFiles + "/samples/namespace-allowed.yaml", "--ignore-not-found"},
	} {
		if _, err := kubectl(ctx, arguments...); err != nil {
			return err
		}
	}
	return nil
}

// removeDemo removes what make demo installed: its policy would deny the tests'
// namespaces. From a cluster that is not from test/cluster it removes nothing.
func removeDemo(ctx context.Context) error {
	_, err := kubeClient.CoreV1().Namespaces().Get(ctx, policyNamespace, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return err
	case !kube.ClusterAuditLog().Available():
		return fmt.Errorf("namespace %s exists: the policies of its bundle may deny the namespaces of the tests. Remove it as %s/README.md says, or make demo-down does", policyNamespace, policyFiles)
	}
	fmt.Fprintln(os.Stderr, "removing the bundle that make demo installed: its policy would deny the namespaces of the tests")
	remove, err := webhooksCommand(ctx, "bundle", "uninstall", policyFiles+"/bundle", "--yes")
	if err != nil {
		return err
	}
	if output, err := remove.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, output)
	}
	return removeProjectPolicy(ctx)
}
