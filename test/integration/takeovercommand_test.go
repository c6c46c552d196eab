package integration

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/exitcode"
	takeovercmd "github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/takeover"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/takeover"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmoperator/crdpolicy/policy"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmoperator/roles/clusterrole"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

const (
	olmOperator = "olm-operator"
	managerName = "olm-webhook-manager"
)

// takeoverEnv has two operators that olm-operator installed, and Deployments of olm-operator and of a manager. The manager
// of this process runs while its Deployment has replicas.
type takeoverEnv struct {
	*env

	start   func() *manager
	running *manager
}

// newTakeoverEnv is for the whole cluster, so the test is not parallel. It removes the operators of earlier tests.
func newTakeoverEnv(t *testing.T) *takeoverEnv {
	t.Helper()
	e := &takeoverEnv{env: operating(newEnv(t), allNamespaces)}
	e.start = func() *manager { return e.manage() }
	removeOtherOperators(e.env)
	installedByOLM(e.env, csv("operator.v1", "server", "operator"), "")
	kube.Create(e, e.kube.DiscoveryV1().EndpointSlices(e.namespace), &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Name: "server-service", Labels: map[string]string{discoveryv1.LabelServiceName: "server-service"}}, AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"192.0.2.1"}}}, Ports: []discoveryv1.EndpointPort{{Name: new("443"), Port: new(int32(443))}},
	})
	other := csv("other.v1", "plain")
	other.Spec.WebhookDefinitions = nil
	installedWithoutWebhooks(e.env, other)
	e.programs()
	return e
}

// programs are olm-operator, which runs, and the manager, which does not.
func (e *takeoverEnv) programs() {
	e.Helper()
	e.program(olmOperator, 1)
	e.program(managerName, 0, "run", "--with-olm")
	e.Cleanup(func() { e.stopManager() })
}

// removeOtherOperators deletes what other tests left: no controller deletes the content of their Namespaces.
func removeOtherOperators(e *env) {
	e.Helper()
	for _, c := range kube.List(e, e.olm.ClusterServiceVersions(metav1.NamespaceAll), metav1.ListOptions{}).Items {
		client := e.olm.ClusterServiceVersions(c.Namespace)
		kube.Patch(e, client, c.Name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
		if err := client.Delete(e.ctx, c.Name, metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
			e.must(err)
		}
	}
	for _, g := range kube.List(e, e.olm.OperatorGroups(metav1.NamespaceAll), metav1.ListOptions{}).Items {
		if g.Namespace != e.namespace {
			e.must(e.olm.OperatorGroups(g.Namespace).Delete(e.ctx, g.Name, metav1.DeleteOptions{}))
		}
	}
	for _, role := range kube.List(e, e.kube.RbacV1().ClusterRoles(), metav1.ListOptions{}).Items {
		if namespace, _, ofGroup := clusterrole.GroupOf(&role); ofGroup && namespace != e.namespace {
			e.must(e.kube.RbacV1().ClusterRoles().Delete(e.ctx, role.Name, metav1.DeleteOptions{}))
		}
	}
}

// program is a Deployment whose pods no client creates: runDeployments sets its status.
func (e *takeoverEnv) program(name string, replicas int32, args ...string) {
	e.Helper()
	pod := aHookPod()
	pod.Labels = map[string]string{"app": name}
	pod.Spec.Containers[0].Args = args
	kube.CreateTemporary(e, e.kube.AppsV1().Deployments(e.namespace), &appsv1.Deployment{ // Later tests would find an OLM v0.
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: pod.Labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: pod.Labels}, Spec: pod.Spec},
		},
	})
}

func (e *takeoverEnv) replicas(name string) int32 {
	e.Helper()
	return *e.deployment(name).Spec.Replicas
}

func (e *takeoverEnv) stopManager() {
	if e.running != nil {
		e.running.stop()
		e.running = nil
	}
}

// follow starts or stops the manager of this process: it runs while its Deployment has replicas. It does not start next to
// olm-operator.
func (e *takeoverEnv) follow() {
	e.Helper()
	switch wanted := e.replicas(managerName) > 0; {
	case wanted && e.running == nil && e.replicas(olmOperator) == 0:
		e.running = e.start()
	case !wanted:
		e.stopManager()
	}
}

// run runs a command to its end, while the programs follow. Its requests pass the proxy.
func (e *takeoverEnv) run(through *kube.Proxy, args ...string) (string, error) {
	e.Helper()
	kubeconfig := filepath.Join(e.TempDir(), "kubeconfig")
	text := fmt.Sprintf("apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts: [{name: a, context: {cluster: a, user: a}}]\nclusters: [{name: a, cluster: {server: %q}}]\nusers: [{name: a, user: {}}]\n", through.Config().Host)
	e.must(os.WriteFile(kubeconfig, []byte(text), 0o600))
	flags := []string{"--kubeconfig", kubeconfig, "-n", e.namespace, "--deployment", managerName, "--olm-namespace", e.namespace, "--olm-version", "v0.46.0"}
	if !slices.Contains([]string{"plan", "status"}, args[0]) {
		flags = append(flags, "--yes", "--observe", "0s", "--pace", "0s", "--timeout", "1m")
	}
	args = slices.Concat(args[:1], flags, args[1:]) // those of the test count
	cmd := takeovercmd.NewCommand()
	var out bytes.Buffer
	cmd.SetArgs(args)
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	ended := make(chan error, 1)
	go func() { ended <- cmd.ExecuteContext(e.ctx) }()
	for {
		select {
		case err := <-ended:
			e.follow()
			return out.String(), err
		case <-time.After(20 * time.Millisecond):
			e.follow()
		}
	}
}

// completes runs a command without an interruption, and returns its writes.
func (e *takeoverEnv) completes(args ...string) []string {
	e.Helper()
	p := proxy(e.env, nil)
	if out, err := e.run(p, args...); err != nil {
		e.Fatalf("%v: %v\n%s", args, err, out)
	}
	return changes(p)
}

// changes returns the method and the path of the writes through a proxy. A review is a question.
func changes(p *kube.Proxy) []string {
	return lists.FilterMap(p.Writes(), func(w string) (string, bool) {
		path, _, _ := strings.Cut(w, "?")
		return path, !isReview(path)
	})
}

func isReview(path string) bool { return strings.HasSuffix(path, "accessreviews") }

// interrupted runs a command whose nth write has an effect, but no answer; no later write is answered.
func (e *takeoverEnv) interrupted(n int, args ...string) (died bool) {
	e.Helper()
	i := 0
	p := proxy(e.env, func(_ int, r *http.Request) kube.Verdict {
		if isReview(r.URL.Path) {
			return kube.Pass
		}
		switch i++; {
		case i < n:
			return kube.Pass
		case i == n:
			died = true
			return kube.DropAfter
		default:
			return kube.DropBefore
		}
	})
	out, err := e.run(p, args...)
	if died != (err != nil) {
		e.Fatalf("%v, interrupted at write %d (%t): %v\n%s", args, n, died, err, out)
	}
	return died
}

func (e *takeoverEnv) status() takeover.Status {
	e.Helper()
	out, err := e.run(proxy(e.env, nil), "status", "-o", "json")
	e.must(err)
	var status takeover.Status
	e.must(json.Unmarshal([]byte(out), &status))
	return status
}

// statusIsTrue compares takeover status with the cluster, as far as it does not change meanwhile.
func (e *takeoverEnv) statusIsTrue(what string) {
	e.Helper()
	status := e.status()
	olm := e.replicas(olmOperator)
	same(e.T, what+": replicas of olm-operator", status.OLM.Replicas, olm)
	same(e.T, what+": replicas of the manager", status.Manager.Replicas, e.replicas(managerName))
	for _, c := range status.CSVs {
		live := e.get(c.Name)
		same(e.T, what+": order of "+c.Name, string(c.Order), live.Labels[wellknown.LabelTakeover])
		if (c.State == takeover.WithOLM) != (olm > 0) {
			e.Errorf("%s: %s is %s, and olm-operator has %d replicas", what, c.Name, c.State, olm)
		}
		if managed := c.State == takeover.Adopted; managed && (live.Labels[wellknown.LabelTakeover] != wellknown.TakeoverHeld) {
			e.Errorf("%s: %s is %s", what, c.Name, c.State)
		}
		e.formIsTrue(what, c)
	}
	complete := olm > 0 && !slices.ContainsFunc(status.CSVs, func(c takeover.CSVStatus) bool { return c.Order != "" }) ||
		!slices.ContainsFunc(status.CSVs, func(c takeover.CSVStatus) bool { return c.State != takeover.Converged })
	same(e.T, what+": something is left to do", len(status.Left) > 0, !complete)
}

// formIsTrue compares the state of a CSV with its Deployments.
func (e *takeoverEnv) formIsTrue(what string, c takeover.CSVStatus) {
	e.Helper()
	if c.State == takeover.ReadyForOLM {
		acceptedByOLM(e.env, c.Name)
	}
	for _, name := range csvspec.DeploymentNames(e.get(c.Name)) {
		converged := e.deployment(name).Spec.Template.Labels[wellknown.LabelCSV] != ""
		if converged && c.State == takeover.Adopted || !converged && c.State == takeover.Converged {
			e.Errorf("%s: %s is %s, and Deployment %s has the manager's form: %t", what, c.Name, c.State, name, converged)
		}
	}
}

func (e *takeoverEnv) is(state takeover.State) {
	e.Helper()
	for _, c := range e.status().CSVs {
		same(e.T, "state of "+c.Name, c.State, state)
	}
}

var (
	runCommand      = []string{"run"}
	undoCommand     = []string{"undo", "--settle", "0s"}
	convergeCommand = []string{"converge", "--all"}
)

// Each command writes what it predicts, and nothing when it is run again.
func TestTakeoverCommand(t *testing.T) {
	e := newTakeoverEnv(t)
	pods := e.pods()
	e.is(takeover.WithOLM)
	planned := e.plan().Writes
	same(t, "the writes of run", e.completes(runCommand...), pathsOf(planned))
	e.is(takeover.Adopted)
	pods.stay(e, "run")
	none(t, "the writes of run when it has completed", e.completes(runCommand...))
	kube.Create(e, e.kube.AdmissionregistrationV1().MutatingAdmissionPolicies(), policy.Policy())
	kube.Create(e, e.kube.AdmissionregistrationV1().MutatingAdmissionPolicyBindings(), policy.Binding())
	predicted := e.predicted()
	same(t, "the writes of undo", sorted(e.completes(undoCommand...)), sorted(predicted))
	e.is(takeover.WithOLM)
	acceptedByOLM(e.env, "operator.v1")
	pods.stay(e, "undo")

	e.completes(runCommand...)
	e.completes(convergeCommand...)
	e.is(takeover.Converged)
	same(t, "the label of the pods", e.deployment("server").Spec.Template.Labels[wellknown.LabelCSV], "operator.v1")
	pods = e.pods()
	e.completes(undoCommand...)
	e.is(takeover.WithOLM)
	acceptedByOLM(e.env, "operator.v1")
	pods.stay(e, "undo of what was converged")
}

// identities are what a takeover must not change: the pods, what they serve, and what its registration trusts.
type identities struct {
	templates      map[string]corev1.PodTemplateSpec
	registered     types.UID
	trust, serving string
}

func (e *takeoverEnv) pods() identities {
	e.Helper()
	registration := e.registration("v.example.com")
	served := kube.Get(e, e.kube.CoreV1().Secrets(e.namespace), "server-service-cert").Data[corev1.TLSCertKey]
	return identities{templatesOf(e.env), registration.UID, string(registration.Webhooks[0].ClientConfig.CABundle), string(served)}
}

func (i identities) stay(e *takeoverEnv, what string) {
	e.Helper()
	now := e.pods()
	same(e.T, "the pod templates after "+what, now.templates, i.templates)
	same(e.T, "the uid of the registration after "+what, now.registered, i.registered)
	same(e.T, "the trust of the registration after "+what, now.trust, i.trust)
	same(e.T, "the certificate after "+what, now.serving, i.serving)
}

// blockedBy requires that plan and run end because of a blocker, and write nothing.
func (e *takeoverEnv) blockedBy(code string) {
	e.Helper()
	for _, command := range []string{"plan", "run"} {
		p := proxy(e.env, nil)
		out, err := e.run(p, command)
		installtest.Contains(e.T, out, code)
		same(e.T, "the exit code of "+command, exitcode.Of(e.ctx, err), 2)
		none(e.T, "writes of "+command, changes(p))
	}
}

// What blocks a takeover is found before anything is changed.
func TestTakeoverCommandIsBlocked(t *testing.T) {
	e := newTakeoverEnv(t)
	scaled := func(name string, replicas int) {
		t.Helper()
		kube.Patch(e, e.kube.AppsV1().Deployments(e.namespace), name, types.MergePatchType, fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas))
	}
	scaled(managerName, 1)
	e.blockedBy("TwoManagers")
	scaled(managerName, 0)
	slice := kube.Get(e, e.kube.DiscoveryV1().EndpointSlices(e.namespace), "server-service")
	e.must(e.kube.DiscoveryV1().EndpointSlices(e.namespace).Delete(e.ctx, slice.Name, metav1.DeleteOptions{}))
	e.blockedBy("WebhookNotServing")
	slice.ResourceVersion = ""
	kube.Create(e, e.kube.DiscoveryV1().EndpointSlices(e.namespace), slice)
	kube.Patch(e, e.kube.AppsV1().Deployments(e.namespace), olmOperator, types.MergePatchType, []byte(`{"metadata":{"annotations":{"include.release.openshift.io/self-managed-high-availability":"true"}}}`))
	e.blockedBy("OLMScaledByOthers")
	kube.Patch(e, e.kube.AppsV1().Deployments(e.namespace), olmOperator, types.MergePatchType, []byte(`{"metadata":{"annotations":null}}`))
	patched := func(name, by string, kind types.PatchType, patch string) {
		t.Helper()
		_, err := e.kube.AppsV1().Deployments(e.namespace).Patch(e.ctx, name, kind, []byte(patch), metav1.PatchOptions{FieldManager: by})
		e.must(err)
	}
	patched("server", "kubectl-rollout", types.StrategicMergePatchType, `{"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":"2026-01-01T00:00:00Z"}}}}}`)
	e.plan() // a restart does not block it
	patched("plain", "kubectl-edit", types.JSONPatchType, `[{"op":"remove","path":"/spec/template/spec/containers/0/env"}]`)
	e.blockedBy("HandEdited")
	patched("plain", olmWriter, types.MergePatchType, `{"spec":{"template":{"spec":{"containers":[{"name":"server","image":"example.com/server:1","env":[{"name":"OPERATOR_CONDITION_NAME","value":"other.v1"}]}]}}}}`)
	e.plan()
	patched("server", "kubectl-edit", types.MergePatchType, `{"spec":{"minReadySeconds":1}}`)
	e.blockedBy("HandEdited")
	kube.Patch(e, e.kube.AppsV1().Deployments(e.namespace), "operator", types.MergePatchType, []byte(`{"metadata":{"labels":{"olm.deployment-spec-hash":"other"}}}`))
	e.blockedBy("OtherForm")
}

// plan returns what takeover plan predicts for run.
func (e *takeoverEnv) plan() takeover.Plan {
	e.Helper()
	out, err := e.run(proxy(e.env, nil), "plan", "-o", "json")
	if err != nil {
		e.Fatalf("%v\n%s", err, out)
	}
	var plan takeover.Plan
	e.must(json.Unmarshal([]byte(out), &plan))
	return plan
}

// predicted returns the paths of the writes of undo after run.
func (e *takeoverEnv) predicted() []string {
	e.Helper()
	status := e.status()
	var all []string
	for _, c := range status.CSVs {
		path := pathOf(takeover.Object{Kind: takeover.KindCSV, Namespace: c.Namespace, Name: c.Name})
		all = append(all, "PATCH "+path, "PATCH "+path, "PATCH "+path) // give-back, given-back, none
		all = append(all, "DELETE "+pathOf(takeover.Object{Kind: takeover.KindRollout, Namespace: c.Namespace, Name: c.Name}))
	}
	for _, kind := range []string{takeover.KindPolicy, takeover.KindBinding} {
		all = append(all, "DELETE "+pathOf(takeover.Object{Kind: kind, Name: policy.Name}))
	}
	for _, name := range []string{olmOperator, managerName} {
		all = append(all, "PATCH "+pathOf(takeover.Object{Kind: takeover.KindDeployment, Namespace: e.namespace, Name: name}))
	}
	return all
}

func sorted(all []string) []string { return slices.Sorted(slices.Values(all)) }

func pathsOf(writes []takeover.Write) []string {
	return lists.Map(writes, func(w takeover.Write) string {
		if w.Verb == takeover.Delete {
			return "DELETE " + pathOf(w.Object)
		}
		return "PATCH " + pathOf(w.Object)
	})
}

func pathOf(o takeover.Object) string {
	switch o.Kind {
	case takeover.KindCSV:
		return "/apis/operators.coreos.com/v1alpha1/namespaces/" + o.Namespace + "/clusterserviceversions/" + o.Name
	case takeover.KindDeployment:
		return "/apis/apps/v1/namespaces/" + o.Namespace + "/deployments/" + o.Name + "/scale"
	case takeover.KindPolicy:
		return "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies/" + o.Name
	case takeover.KindBinding:
		return "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings/" + o.Name
	default:
		return "/apis/olm-webhook-manager.io/v1alpha1/namespaces/" + o.Namespace + "/webhookrollouts/" + o.Name
	}
}

// installedWithoutWebhooks leaves what olm-operator leaves of an operator without webhooks.
func installedWithoutWebhooks(e *env, c *operatorsv1alpha1.ClusterServiceVersion) {
	e.Helper()
	c.Annotations = map[string]string{
		wellknown.AnnotationOperatorGroup: "og", wellknown.AnnotationOperatorNamespace: e.namespace, wellknown.AnnotationTargetNamespaces: "",
	}
	c.Finalizers = []string{wellknown.FinalizerCSV}
	c = e.create(c)
	now := metav1.Now()
	c.SetPhase(operatorsv1alpha1.CSVPhaseSucceeded, operatorsv1alpha1.CSVReasonInstallSuccessful, "install strategy completed with no errors", &now)
	c = installtest.OrPanic(e.olm.ClusterServiceVersions(e.namespace).UpdateStatus(e.ctx, c, metav1.UpdateOptions{FieldManager: olmWriter}))
	for _, spec := range csvspec.Deployments(c) {
		installtest.OrPanic(e.kube.AppsV1().Deployments(e.namespace).Create(e.ctx, render.OLMDeployment(render.Input{CSV: c}, spec, ""), metav1.CreateOptions{FieldManager: olmWriter}))
	}
}
