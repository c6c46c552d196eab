package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/calls"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// deployed is the folder that hack/deploy.sh applies. It contains manifests.
const deployed = "out/deploy"

// TestChart changes from kustomize to Helm as docs/admin/install.md describes, then upgrades the release, goes back,
// uninstalls it and installs it again. No call of a webhook fails. Afterwards the cluster has the manager of
// hack/deploy.sh again.
func TestChart(t *testing.T) {
	c := &chart{newHookEnv(t)}
	c.Cleanup(c.returnToKustomize)
	load := c.startLoad()
	load.GoesOn(calls.Denied)

	c.refuses("invalid ownership metadata", "helm install olm-webhook-manager charts/olm-webhook-manager -n olm-webhook-manager")
	c.adopts()
	managerWorks(c.env)
	load.GoesOn(calls.Denied)

	c.helm("upgrade", "--set", "logLevel=debug,podAnnotations.a=b,podDisruptionBudget.enabled=false")
	managerWorks(c.env)
	c.has("debug", "b", false)
	c.helm("rollback")
	managerWorks(c.env)
	c.has("", "", true)
	load.GoesOn(calls.Denied)

	c.runs("helm uninstall olm-webhook-manager -n olm-webhook-manager --wait")
	becomes(c.env, "no pod of the manager is left", func() int { return len(c.managerPods()) }, 0)
	c.keepsDefinitions()
	load.GoesOn(calls.Denied)
	c.helm("install") // The CRDs of the previous release are those of this one.
	managerWorks(c.env)
	c.refuses(`must equal "second"`, "helm install second charts/olm-webhook-manager -n "+c.namespace)
	load.GoesOn(calls.Denied)
	load.End(calls.Never)
}

// chart runs the commands of administrators who install the manager with Helm.
type chart struct{ *env }

// try runs a command in the root of the checkout, with helm in PATH and without its files of the user.
func (c *chart) try(command string) (output string, err error) {
	c.Helper()
	helm := os.Getenv("HELM")
	if helm == "" {
		c.Fatal("HELM is not set: run the test by hack/e2e.sh, which builds helm")
	}
	cmd := exec.CommandContext(c.ctx, "bash", "-o", "pipefail", "-c", command)
	cmd.Dir = "../.."
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(helm)+":"+os.Getenv("PATH"),
		"HELM_CACHE_HOME="+c.files(), "HELM_CONFIG_HOME="+c.files(), "HELM_DATA_HOME="+c.files())
	all, err := cmd.CombinedOutput()
	return string(all), err
}

// files returns a folder that does not exist, so that helm reads no plugins and repositories.
func (c *chart) files() string { return filepath.Join(os.TempDir(), c.namespace) }

func (c *chart) runs(command string) {
	c.Helper()
	if output, err := c.try(command); err != nil {
		c.Fatalf("%s: %v\n%s", command, err, output)
	}
}

func (c *chart) refuses(message, command string) {
	c.Helper()
	output, err := c.try(command)
	if err == nil {
		c.Fatalf("%s succeeds", command)
	}
	installtest.Contains(c, output, message)
}

// helm runs a command for the release, and waits until its pods are ready.
func (c *chart) helm(command string, flags ...string) {
	c.Helper()
	words := []string{"helm", command, managerDeployment}
	if command != "rollback" {
		words = append(words, "charts/olm-webhook-manager")
	}
	words = append(words, "-n", managerNamespace, "--wait", "--timeout", "3m")
	c.runs(strings.Join(append(words, flags...), " "))
}

// adopts runs the commands of the section "Change from kustomize to Helm". The overlay of hack/deploy.sh annotates the
// pods. No value of the chart does, so kubectl removes the annotation, and the pods are replaced.
func (c *chart) adopts() {
	c.Helper()
	c.runs(c.documented("helm install"))
	c.runs(c.endOfOwnership(""))
	becomes(c.env, "kubectl owns no field of the Deployment", func() []string {
		d := kube.Get(c, kubeClient.AppsV1().Deployments(managerNamespace), managerDeployment)
		return owners(d.ManagedFields)
	}, []string{"helm"})
	c.runs("kubectl rollout status -n olm-webhook-manager deployment/olm-webhook-manager --timeout=3m")
	ns := kube.Get(c, kubeClient.CoreV1().Namespaces(), managerNamespace)
	installtest.Same(c, "the label of the Namespace", "restricted", ns.Labels["pod-security.kubernetes.io/enforce"])
}

// owners returns the clients that applied fields of an object.
func owners(fields []metav1.ManagedFieldsEntry) (all []string) {
	for _, entry := range fields {
		if entry.Operation == metav1.ManagedFieldsOperationApply {
			all = append(all, entry.Manager)
		}
	}
	slices.Sort(all)
	return all
}

// documented returns the command of the section that begins like this.
func (c *chart) documented(begins string) string {
	c.Helper()
	page, err := os.ReadFile("../../docs/admin/install.md")
	c.must(err)
	_, section, _ := strings.Cut(string(page), "\n## Change from kustomize to Helm\n")
	for _, block := range strings.Split(section, "```sh\n")[1:] {
		command, _, _ := strings.Cut(block, "```")
		command = strings.ReplaceAll(strings.TrimSpace(command), "\n   ", "\n")
		if strings.HasPrefix(command, begins) {
			return command
		}
	}
	c.Fatalf("docs/admin/install.md has no command %q", begins)
	return ""
}

// endOfOwnership returns the documented command that ends the ownership of a field manager: of kubectl, or of the one
// that the flag names.
func (c *chart) endOfOwnership(flag string) string {
	c.Helper()
	command := c.documented("kubectl get -k manifests ")
	return strings.NewReplacer("-k manifests ", "-k "+deployed+" ", "apply --server-side", "apply --server-side "+flag).Replace(command)
}

// has compares what the upgrade sets. An empty log level is the default.
func (c *chart) has(logLevel, annotation string, budget bool) {
	c.Helper()
	args := []string{"run"}
	if logLevel != "" {
		args = append(args, "--log-level="+logLevel)
	}
	d := kube.Get(c, kubeClient.AppsV1().Deployments(managerNamespace), managerDeployment)
	installtest.Same(c, "arguments", args, d.Spec.Template.Spec.Containers[0].Args)
	installtest.Same(c, "annotation of the pods", annotation, d.Spec.Template.Annotations["a"])
	_, err := kubeClient.PolicyV1().PodDisruptionBudgets(managerNamespace).Get(c.ctx, managerDeployment, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		c.Fatal(err)
	}
	installtest.Same(c, "a PodDisruptionBudget exists", budget, err == nil)
}

// keepsDefinitions checks that an uninstallation deletes no CRD, so that the objects of users remain.
func (c *chart) keepsDefinitions() {
	c.Helper()
	for _, folder := range []string{"manifests/crds", "manifests/crds/olm"} {
		c.kubectl("get", "-k", folder)
	}
	installtest.Same(c, "the webhook", 1, len(c.registrations()))
	c.get("hook.v1")
	_, err := kubeClient.AppsV1().Deployments(managerNamespace).Get(c.ctx, managerDeployment, metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		c.Errorf("the Deployment of the manager exists after the uninstallation: %v", err)
	}
}

// returnToKustomize removes the release, and what Helm owns of the CRDs that it keeps.
func (c *chart) returnToKustomize() {
	c.Helper()
	c.ctx = context.WithoutCancel(c.ctx)
	c.runs("helm uninstall olm-webhook-manager -n olm-webhook-manager --ignore-not-found --wait")
	c.runs("kubectl apply --server-side --force-conflicts -k " + deployed)
	c.runs(c.endOfOwnership("--field-manager=helm"))
	startManager(c.env)
}
