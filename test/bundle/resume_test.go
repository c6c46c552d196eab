package bundle

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/deploy"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/installer"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// A removal that is interrupted after each object continues wherever the bundle was installed, and
// reports that nothing is left only when nothing is.
func TestUninstallationsResume(t *testing.T) {
	e, c := newEnvWithInstaller(t)
	const namespace = "resumed" // not the one that the bundle suggests
	b := edited(t, proof{example: admission, edits: []string{"SingleNamespace\n    supported: false", "SingleNamespace\n    supported: true", "clusterPermissions:", "permissions:"}})
	chosen := bundle.Options{Namespace: namespace, Watch: []string{"resumed-elsewhere"}} // where it is granted something
	e.namespace(t, namespace)
	e.namespace(t, chosen.Watch[0])
	must(t, applyAll(t, c, b, chosen))
	left := prepared(t, c, b, chosen).Manifests
	runs := 0
	for {
		o := bundle.Options{}
		_, err := c.CompleteUninstall(t.Context(), b, &o)
		if err != nil {
			says(t, err, b.CSV.Name+" is not installed", "with -n")
			break
		}
		if o.Namespace != namespace {
			t.Fatalf("run %d looks in namespace %s", runs, o.Namespace)
		}
		if runs++; runs > len(left) {
			t.Fatalf("more runs than objects: %d", runs)
		}
		removeOne(t, c, b, o)
	}
	for _, o := range left {
		installtest.Same(t, deploy.Title(o)+" exists", o.GetKind() == "Namespace" || o.GetKind() == "CustomResourceDefinition", e.isThere(t, o))
	}
	if runs < 5 {
		t.Errorf("it was interrupted %d times only", runs)
	}
	for _, o := range left {
		if o.GetKind() == "CustomResourceDefinition" {
			resource := e.client(t, o)
			e.remove(t, resource, o.GetName())
		}
	}
}

// removeOne is a removal that is interrupted as soon as one object no longer exists.
func removeOne(t *testing.T, c *installer.Installer, b *bundle.Bundle, o bundle.Options) {
	t.Helper()
	i := prepared(t, c, b, o)
	removal := removalOf(t, c, i, false)
	must(t, installer.CheckRemoval(i, removal))
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	i.Print = func(format string, args ...any) {
		t.Logf(format, args...)
		interrupt()
	}
	removed, err := c.Uninstall(ctx, i, agreedRemoval(t, removal))
	if len(removed) != 1 || err != nil && !errors.Is(err, installer.ErrInterrupted) {
		t.Errorf("%d objects were removed before it was interrupted: %v", len(removed), err)
	}
}

func (e *env) isThere(t *testing.T, o *unstructured.Unstructured) bool {
	t.Helper()
	resource := e.client(t, o)
	_, err := resource.Get(t.Context(), o.GetName(), metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	return err == nil
}

// Ctrl-C names the namespace; the same command, given again, removes the rest, and then finds nothing.
func TestUninstallationsAreInterrupted(t *testing.T) {
	e, c := newEnvWithInstaller(t)
	const namespace = "interrupted"
	b := edited(t, proof{example: admission})
	e.namespace(t, namespace)
	must(t, applyAll(t, c, b, bundle.Options{Namespace: namespace}))
	csv := b.CSVObject.DeepCopy()
	csv.SetNamespace(namespace)
	resource := e.client(t, csv)
	finalizers := func(text string) {
		kube.Patch(t, resource, csv.GetName(), types.MergePatchType, []byte(`{"metadata": {"finalizers": `+text+`}}`))
	}
	finalizers(`["bundle.example.com/held"]`)

	command := func() *exec.Cmd {
		return webhooks(t, "bundle", "uninstall", "../../examples/projectpolicy/bundle", "--yes", "--delete-crds", "--yes-delete-crds")
	}
	var said bytes.Buffer
	first := command()
	first.Stdout, first.Stderr = &said, &said
	must(t, first.Start())
	e.eventually(t, "the ClusterServiceVersion is deleted", func() bool {
		live, err := resource.Get(t.Context(), csv.GetName(), metav1.GetOptions{})
		return err == nil && live.GetDeletionTimestamp() != nil
	})
	must(t, first.Process.Signal(os.Interrupt))
	endsWith(t, first.Wait(), 130)
	installtest.Contains(t, said.String(), "run the same command again to continue, with -n "+namespace)

	finalizers("null")
	for _, again := range []struct {
		code int
		says string
	}{{0, "projectpolicy.v0.1.0 is removed"}, {1, "projectpolicy.v0.1.0 is not installed"}} {
		output, err := command().CombinedOutput()
		endsWith(t, err, again.code)
		installtest.Contains(t, string(output), again.says)
	}
}

// A command that is interrupted after it created the namespace, and before it wrote anything into it, leaves a
// record: the next one knows the namespace as its own.
func TestNamespaceOfAnInterruptedInstallation(t *testing.T) {
	e, c := newEnvWithInstaller(t)
	const namespace = "cut-namespace"
	b := written(t, "cut", "cut.v1")
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	p := e.planned(t, c, b, namespace)
	p.Print = func(format string, args ...any) {
		if line := fmt.Sprintf(format, args...); strings.HasPrefix(line, "applied Namespace") {
			interrupt()
		}
	}
	applied, err := install(ctx, c, p)
	if !errors.Is(err, installer.ErrInterrupted) || strings.Contains(err.Error(), "manager") || len(applied) != 1 {
		t.Errorf("%d objects were applied: %v", len(applied), err)
	}
	if step := e.planned(t, c, b, namespace).Steps()[0]; deploy.Title(step.Object) != "Namespace "+namespace || step.Action != deploy.Update {
		t.Errorf("the next command would %s %s", step.Action, deploy.Title(step.Object))
	}
}

func endsWith(t *testing.T, err error, want int) {
	t.Helper()
	code, ended := 0, &exec.ExitError{}
	switch {
	case errors.As(err, &ended):
		code = ended.ExitCode()
	case err != nil:
		t.Fatal(err)
	}
	installtest.Same(t, "exit code", want, code)
}

func TestUninstallationsOfNothing(t *testing.T) {
	t.Parallel()
	newEnv(t)
	for name, test := range map[string]struct{ flags, says string }{
		"anywhere":              {"--yes", "projectpolicy.v0.1.0 is not installed; name the namespace of what may be left of it with -n"},
		"in a namespace":        {"--yes -n nowhere", "projectpolicy.v0.1.0 is not installed in namespace nowhere, and nothing is left to remove"},
		"without doing a thing": {"--dry-run -n nowhere", "is not installed in namespace nowhere"},
	} {
		t.Run(name, func(t *testing.T) {
			output, err := webhooks(t, append([]string{"bundle", "uninstall", "../../examples/projectpolicy/bundle"}, strings.Fields(test.flags)...)...).CombinedOutput()
			endsWith(t, err, 1)
			if said := string(output); !strings.Contains(said, test.says) || strings.Contains(said, "is removed") {
				t.Errorf("it does not contain %q:\n%s", test.says, said)
			}
		})
	}
}
