package e2e

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/calls"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// guidePages are the pages of docs/admin whose commands this package runs.
var guidePages = []string{"command-line", "troubleshoot", emergencyPage, "operators", "upgrade", "offline", "policies", "some-namespaces", "monitor", "drill", "audit"}

// emergencyPage is the page of which every command is run.
const emergencyPage = "emergency"

// triedElsewhere are the commands of these pages that this cluster cannot run, or that other tests run.
var triedElsewhere = map[string]string{
	`exec kubectl-webhooks __complete "$@"`: "pkg/cli/cmd/bundle: TestBundleCommands",
	"make image":                            "hack/e2e.sh",
	"ctr -n k8s.io images import out/olm-webhook-manager.tar":            "hack/deploy.sh, which imports it as test/cluster does",
	"kubectl apply --server-side -k manifests/limited":                   "test/integration: TestLimitedManager, with the permissions of these files",
	"kubectl apply --server-side -n shop -k manifests/limited/namespace": "test/integration: TestLimitedManager",
	"kubectl apply --server-side -k manifests/monitoring":                "make verify, with the types of the Prometheus Operator, whose kinds are not here",
	"kubectl webhooks audit v.shop.io --replay":                          "test/integration: TestAuditEqualsTheLoad",
	"kubectl webhooks audit --audit-log audit-1.log,audit-2.log -o json": "test/integration: TestAuditEqualsTheLoad",
}

type guide struct {
	*terminal
	left map[string]bool
}

func newGuide(t *terminal) *guide {
	t.Helper()
	g := &guide{t, map[string]bool{}}
	for _, page := range guidePages {
		content, err := os.ReadFile("../../docs/admin/" + page + ".md")
		t.must(err)
		for _, command := range commandsOf(string(content), page == emergencyPage) {
			g.left[command] = true
		}
	}
	for command := range triedElsewhere {
		if !g.left[command] {
			t.Errorf("docs/admin has no command %q", command)
		}
		delete(g.left, command)
	}
	return g
}

// commandsOf returns the commands of a page that the guide runs: the indented ones, and with fenced also those of
// its sh blocks. A line that ends with a backslash or with && continues on the next one.
func commandsOf(page string, fenced bool) []string {
	var commands []string
	inFence := false
	page = strings.ReplaceAll(strings.ReplaceAll(page, "\\\n", ""), "&&\n", "&& ")
	for line := range strings.Lines(page) {
		if fence, opens := strings.CutPrefix(strings.TrimSpace(line), "```"); opens {
			inFence = fenced && fence == "sh"
			continue
		}
		command, _, _ := strings.Cut(strings.TrimSpace(line), " #")
		program, _, _ := strings.Cut(command, " ")
		isProgram := slices.Contains([]string{"kubectl", "make", "ctr", "exec", "old=$(kubectl"}, program)
		if isProgram && (inFence || strings.HasPrefix(line, "    ")) {
			commands = append(commands, strings.TrimSpace(command))
		}
	}
	return commands
}

func (g *guide) find(begins string, replace ...string) string {
	g.Helper()
	for command := range g.left {
		if command == begins || !g.left[begins] && strings.HasPrefix(command, begins) {
			delete(g.left, command)
			return strings.NewReplacer(replace...).Replace(command)
		}
	}
	g.Fatalf("docs/admin has no command that begins with %q, or has been through it", begins)
	return ""
}

func (g *guide) try(begins string, replace ...string) (said string, exit int) {
	g.Helper()
	folder, err := plugin()
	g.must(err)
	cmd := exec.CommandContext(g.ctx, "bash", "-c", g.find(begins, replace...))
	cmd.Dir, cmd.Env = "../..", append(os.Environ(), "PATH="+folder+":"+os.Getenv("PATH"))
	output, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		g.Fatal(err)
	}
	return string(output), cmd.ProcessState.ExitCode()
}

func (g *guide) works(begins string, replace ...string) string {
	g.Helper()
	said, exit := g.try(begins, replace...)
	if exit != 0 {
		g.Fatalf("%s ...: exit code %d\n%s", begins, exit, said)
	}
	return said
}

func TestOperationsGuide(t *testing.T) {
	term := newTerminal(t, "shop")
	for _, name := range []string{"shop", "stock"} {
		makeNamespace(term.env, name)
	}
	g := newGuide(term)
	v1, v2 := term.hookBundle("shop", shopBundle("shop.v1", "")), term.hookBundle("shop", shopBundle("shop.v2", "shop.v1"))

	g.works("kubectl webhooks bundle install ./bundle", "./bundle", v1, "install", "install --yes")
	contains(g.env, g.works("kubectl webhooks status -n shop"), "v.shop.io", "Registered")
	g.explainsRequests()
	g.predictsARestart()
	contains(g.env, g.works("kubectl webhooks audit"), "no WebhookRollout reports an opening")
	g.seesWhatBlocks()
	g.keepsAWebhookOff()
	g.leavesTheEmergency()
	g.deletesARegistration()
	g.stopsTheManager()
	g.upgradesTheManagerUnderLoad()
	g.restartsTheManager()
	g.letsPrometheusScrape()
	g.rendersWithoutNetwork(v1)
	g.works("kubectl webhooks bundle upgrade ./bundle-v2", "./bundle-v2", v2, "upgrade", "upgrade --yes")
	term.denies()
	g.works("kubectl webhooks bundle uninstall ./bundle-v2", "./bundle-v2", v2, "uninstall", "uninstall --yes")
	if left := slices.Sorted(maps.Keys(g.left)); len(left) > 0 {
		t.Errorf("commands of docs/admin that nothing has tried: %q", left)
	}
}

func shopBundle(name, replaces string) func(*operatorsv1alpha1.ClusterServiceVersion, *corev1.PodSpec) {
	return func(csv *operatorsv1alpha1.ClusterServiceVersion, _ *corev1.PodSpec) {
		csv.Name, csv.Spec.Replaces = name, replaces
		csv.Spec.InstallModes = append(csv.Spec.InstallModes, operatorsv1alpha1.InstallMode{Type: operatorsv1alpha1.InstallModeTypeMultiNamespace, Supported: true})
		csv.Spec.WebhookDefinitions[0].GenerateName = "v.shop.io"
	}
}

func makeNamespace(e *env, name string) {
	e.Helper()
	kube.Create(e, kubeClient.CoreV1().Namespaces(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	e.Cleanup(func() {
		if err := kubeClient.CoreV1().Namespaces().Delete(e.ctx, name, metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
			e.must(err)
		}
		e.eventually(name+" no longer exists", func() (bool, any) {
			ns, err := kubeClient.CoreV1().Namespaces().Get(e.ctx, name, metav1.GetOptions{})
			return apierrors.IsNotFound(err), ns.Status
		})
	})
}

func contains(e *env, said string, parts ...string) {
	e.Helper()
	installtest.Contains(e, said, parts...)
}

// seesWhatBlocks: status follows a webhook that loses its pods, and doctor names it, and
// another that a client left behind.
func (g *guide) seesWhatBlocks() {
	g.Helper()
	leaveBehind(g.env, "left-behind")
	following := g.start(strings.Fields(strings.TrimPrefix(g.find("kubectl webhooks status -A -w"), "kubectl webhooks "))...)
	following.says("Registered")
	following.says("Registrations that belong to no ClusterServiceVersion")
	scale(g.env, "shop", 0)
	following.says("Unreachable")
	if said, exit := following.interrupt(); exit != 0 {
		g.Errorf("status -w ends with %d\n%s", exit, said)
	}
	said, exit := g.try("kubectl webhooks doctor")
	installtest.Same(g, "the exit code of doctor", 2, exit)
	contains(g.env, said, "ERROR NoReadyEndpoints", "v.shop.io", "the API server refuses CREATE of configmaps", "no endpoint of Service shop/shop-service is ready",
		"ERROR ServiceMissing", "left-behind", "Service shop/missing does not exist")
}

func leaveBehind(e *env, name string, changes ...func(*admissionregistrationv1.ValidatingWebhook)) {
	e.Helper()
	none := admissionregistrationv1.SideEffectClassNone
	client := kubeClient.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "left.behind.example.com", SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
			ClientConfig: admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{Namespace: "shop", Name: "missing"}},
			Rules:        []admissionregistrationv1.RuleWithOperations{installtest.RuleOf([]string{"nowhere.example.com"}, []string{"things"})},
		}},
	}
	for _, change := range changes {
		change(&configuration.Webhooks[0])
	}
	kube.Create(e, client, configuration)
	e.Cleanup(func() {
		if err := client.Delete(context.WithoutCancel(e.ctx), name, metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
			e.must(err)
		}
	})
}

func (g *guide) keepsAWebhookOff() {
	g.Helper()
	callsAre(g.env, calls.Failed)
	said := g.works("kubectl get validatingwebhookconfiguration CONFIGURATION -L olm.owner", "CONFIGURATION", g.registration().Name)
	contains(g.env, said, "shop.v1")
	installtest.Same(g, "the Subscription", "shop", g.works("kubectl -n shop get webhookrollout shop.v1 "))
	g.kubectl("-n", "shop", "patch", "subscriptions.operators.coreos.com", "shop", "--type=merge",
		"-p", `{"spec":{"config":{"annotations":{"olm-webhook-manager.io/disabled-webhooks":"other.shop.io"}}}}`)
	contains(g.env, g.works("old=$(kubectl -n shop get subscriptions.operators.coreos.com shop"), "before: other.shop.io\n")
	g.disabledAre("other.shop.io,v.shop.io")
	callsAre(g.env, calls.Uncovered)
	g.works("kubectl -n shop patch subscriptions.operators.coreos.com shop --type=json")
	g.disabledAre("")
	g.acceptsTheSubscription()
	scale(g.env, "shop", 2)
	g.webhookIs("shop.v1", managerv1alpha1.WebhookRegistered, "Serving")
	callsAre(g.env, calls.Denied)
}

// disabledAre checks the list of disabled webhooks in the Subscription.
func (g *guide) disabledAre(want string) {
	g.Helper()
	subscription, err := olmClient.Subscriptions("shop").Get(g.ctx, "shop", metav1.GetOptions{})
	g.must(err)
	got := ""
	if config := subscription.Spec.Config; config != nil {
		got = config.Annotations["olm-webhook-manager.io/disabled-webhooks"]
	}
	installtest.Same(g, "disabled webhooks", want, got)
}

// acceptsTheSubscription dry-runs the Subscription of the page in a namespace that has none.
func (g *guide) acceptsTheSubscription() {
	g.Helper()
	page, err := os.ReadFile("../../docs/admin/" + emergencyPage + ".md")
	g.must(err)
	_, after, _ := strings.Cut(string(page), "```yaml\n")
	manifest, _, found := strings.Cut(after, "```")
	if !found {
		g.Fatal("the page has no manifest")
	}
	cmd := exec.CommandContext(g.ctx, "kubectl", "create", "--dry-run=server", "-f", "-")
	cmd.Stdin = strings.NewReader(strings.Replace(manifest, "namespace: shop}", "namespace: stock}", 1))
	if output, err := cmd.CombinedOutput(); err != nil {
		g.Errorf("%v: %s", err, output)
	}
}

// leavesTheEmergency: every write in the Namespace fails because of a registration that no ClusterServiceVersion
// declares, until the commands of the guide delete it. The copy can be recreated.
func (g *guide) leavesTheEmergency() {
	g.Helper()
	const name = "blocks-shop"
	leaveBehind(g.env, name, func(w *admissionregistrationv1.ValidatingWebhook) {
		scope := admissionregistrationv1.NamespacedScope
		w.Rules = []admissionregistrationv1.RuleWithOperations{{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.OperationAll},
			Rule:       admissionregistrationv1.Rule{APIGroups: []string{"*"}, APIVersions: []string{"*"}, Resources: []string{"*/*"}, Scope: &scope},
		}}
		w.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: "shop"}}
	})
	g.writesAre(false)
	g.fails(2, []string{"ERROR ServiceMissing", name}, "doctor")
	contains(g.env, g.works("kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations"), name, "left.behind.example.com")

	saved := filepath.Join(g.TempDir(), "saved.yaml")
	g.works("kubectl get validatingwebhookconfiguration CONFIGURATION -o yaml", "CONFIGURATION.yaml", saved, "CONFIGURATION", name)
	g.works("kubectl delete validatingwebhookconfiguration CONFIGURATION", "CONFIGURATION", name)
	g.writesAre(true)
	if said := g.works("kubectl webhooks status -A"); strings.Contains(said, name) {
		g.Errorf("%s is still registered:\n%s", name, said)
	}
	g.recovers()
	contains(g.env, g.works("kubectl -n NS get endpointslices", "NS", "shop", "SERVICE", "shop-service"), "shop-service")
	g.works("kubectl create -f CONFIGURATION.yaml", "CONFIGURATION.yaml", saved)
	g.writesAre(false)
	g.kubectl("delete", "validatingwebhookconfiguration", name)
	g.writesAre(true)
}

// recovers: a write is tried, and controllers retry at once.
func (g *guide) recovers() {
	g.Helper()
	g.works("kubectl -n NS run try-webhooks ", "NS", "shop", "KEY=VALUE", "app=try-webhooks")
	g.works("kubectl -n NS rollout restart deployment/DEPLOYMENT", "NS", "shop", "deployment/DEPLOYMENT", "deployment/shop")
	for range 2 {
		g.works("kubectl get events -A --field-selector reason=FailedCreate")
	}
	callsAre(g.env, calls.Denied)
}

// writesAre waits until a write in the Namespace is possible, or fails because an answer is missing.
func (g *guide) writesAre(possible bool) {
	g.Helper()
	g.eventually(fmt.Sprintf("writes are possible: %t", possible), func() (bool, any) {
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{GenerateName: "somebody-"}}
		_, err := kubeClient.CoreV1().ServiceAccounts("shop").Create(g.ctx, account, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return possible == (err == nil) && (err == nil || isUnjudged(err)), err
	})
}

// deletesARegistration of a ClusterServiceVersion, while the manager runs: it creates it again when the
// webhook serves, and not before.
func (g *guide) deletesARegistration() {
	g.Helper()
	scale(g.env, "shop", 0)
	callsAre(g.env, calls.Failed)
	g.kubectl("delete", "validatingwebhookconfiguration", g.registration().Name)
	callsAre(g.env, calls.Uncovered)
	scale(g.env, "shop", 2)
	callsAre(g.env, calls.Denied)
}

func (g *guide) stopsTheManager() {
	g.Helper()
	g.works("kubectl -n olm-webhook-manager scale deployment olm-webhook-manager --replicas=0")
	becomes(g.env, "no pod of the manager is left", func() int { return len(g.managerPods()) }, 0)
	scale(g.env, "shop", 0)
	callsAre(g.env, calls.Failed)
	g.eventually("status sees that no endpoint is ready", func() (bool, any) {
		said := g.terminal.works("", "status", "-n", "shop")
		return strings.Contains(said, "no endpoint of Service shop/shop-service is ready"), said
	})
	contains(g.env, g.terminal.works("", "status", "-n", "shop"), "No manager holds Lease olm-webhook-manager/olm-webhook-manager", "Unreachable")
	g.kubectl("delete", "validatingwebhookconfiguration", g.registration().Name)
	contains(g.env, g.terminal.works("", "status", "-n", "shop"), "Waiting", "no longer registers it")
	callsAre(g.env, calls.Uncovered)
	scale(g.env, "shop", 2)
	g.works("kubectl -n olm-webhook-manager scale deployment olm-webhook-manager --replicas=2")
	callsAre(g.env, calls.Denied)
}

func callsAre(e *env, o calls.Outcome) {
	e.Helper()
	e.eventually("a call is "+o.String(), func() (bool, any) {
		c := e.call(e.ctx, true)
		return c.Outcome == o, c.Err
	})
}

func (g *guide) upgradesTheManagerUnderLoad() {
	g.Helper()
	load := g.startLoad()
	load.GoesOn(calls.Denied)
	g.works("kubectl apply --server-side -k manifests/crds")
	g.works("kubectl apply --server-side -k manifests/manager")
	restartManager(g.env)
	contains(g.env, g.works("kubectl webhooks storage migrate webhookrollouts."), "0 were rewritten")
	load.GoesOn(calls.Denied)
	load.End(calls.Never)
}

func (g *guide) restartsTheManager() {
	g.Helper()
	g.works("kubectl -n olm-webhook-manager rollout restart ")
	status := exec.CommandContext(g.ctx, "kubectl", "-n", managerNamespace, "rollout", "status", "deployment/"+managerDeployment, "--timeout=3m")
	if output, err := status.CombinedOutput(); err != nil {
		g.Fatalf("%v: %s", err, output)
	}
}

// letsPrometheusScrape creates the binding of the guide. TestMetricsAccess shows what such a binding grants.
func (g *guide) letsPrometheusScrape() {
	g.Helper()
	g.works("kubectl create clusterrolebinding prometheus-olm-webhook-manager ")
	g.must(kubeClient.RbacV1().ClusterRoleBindings().Delete(g.ctx, "prometheus-olm-webhook-manager", metav1.DeleteOptions{}))
}

// rendersWithoutNetwork: from an OCI layout, in a network namespace that has no interface up.
func (g *guide) rendersWithoutNetwork(folder string) {
	g.Helper()
	rendered := filepath.Join(g.TempDir(), "bundle.yaml")
	command := g.find("kubectl webhooks bundle render ./bundle", "./bundle", ociLayout(g.env, folder), "bundle.yaml", rendered)
	cmd := exec.CommandContext(g.ctx, "unshare", "--net", "bash", "-c", command)
	path, err := plugin()
	g.must(err)
	cmd.Env = append(os.Environ(), "PATH="+path+":"+os.Getenv("PATH"))
	if output, err := cmd.CombinedOutput(); err != nil {
		g.Fatalf("%s: %v\n%s", command, err, output)
	}
	text, err := os.ReadFile(rendered)
	g.must(err)
	contains(g.env, string(text), "kind: ClusterServiceVersion", "name: shop.v1")
}

// ociLayout writes a bundle's folder as the only layer of the only image of a layout.
func ociLayout(e *env, folder string) string {
	e.Helper()
	var files bytes.Buffer
	archive := tar.NewWriter(&files)
	e.must(archive.AddFS(os.DirFS(folder)))
	e.must(archive.Close())
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(files.Bytes())), nil })
	e.must(err)
	image, err := mutate.AppendLayers(empty.Image, layer)
	e.must(err)
	written, err := layout.Write(e.TempDir(), empty.Index)
	e.must(err)
	e.must(written.AppendImage(image))
	return string(written)
}
