package rollout

import (
	"fmt"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/csvstatus"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/permissions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/backends"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/ending"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/phase"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

// noon is the time at which all tests begin.
var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// cluster contains the operator shop.v1 in the namespace "shop". It stores the writes of plans as
// an API server does. Tests set the states of Deployments, endpoints and probes.
type cluster struct {
	Input
	t      *testing.T
	now    time.Time
	group  *operatorsv1.OperatorGroup
	trust  render.Trust
	answer func(backends.Endpoint) backends.Answer // result of a probe
	writes int                                     // number of writes until the manager stops, once; -1 for no limit
	uids   int
	admit  func(drift.Object) // changes a written object; nil for no change
	// unknown is why API servers cannot be asked.
	unknown string
	// behind are the API servers that have not observed the beginning or the end of registrations.
	behind []string
	// adopted is set while registrations stay as olm-operator made them.
	adopted bool
}

// clusterWith returns a cluster with only a CSV with these webhooks. Its Deployments are in the order of the webhooks.
func clusterWith(t *testing.T, webhooks ...operatorsv1alpha1.WebhookDescription) *cluster {
	c := &cluster{
		t: t, now: noon, writes: -1,
		group:  &operatorsv1.OperatorGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "group", UID: "uid-of-group"}},
		trust:  render.Trust{CABundle: []byte("ca"), CAHash: "hash-of-ca", Generation: 1},
		answer: serves,
	}
	c.CSV = installtest.Operator(nil, webhooks...)
	c.CSV.Generation = 1
	for _, w := range webhooks {
		if c.spec(w.DeploymentName) == nil {
			c.declare(w.DeploymentName)
		}
	}
	c.Policy = DefaultPolicy()
	c.Certificates = map[string]managerv1alpha1.CertificateStatus{}
	c.Secrets = map[string]*Step{}
	c.Observed = Observed{
		Deployments: map[string]*appsv1.Deployment{}, Services: map[string]*corev1.Service{},
		Slices: map[string][]*discoveryv1.EndpointSlice{}, Pods: map[string][]*corev1.Pod{},
		Budgets: map[string]*policyv1.PodDisruptionBudget{},
		Roles:   map[string]*rbacv1.Role{}, RoleBindings: map[string]*rbacv1.RoleBinding{},
		AuthDelegators: map[string]*rbacv1.ClusterRoleBinding{}, AuthReaders: map[string]*rbacv1.RoleBinding{},
		CreationTimes: map[types.UID]time.Time{}, Answers: map[backends.Endpoint]backends.Answer{}, Refused: map[string]string{}, Writes: map[string]drift.Write{}, Contests: map[string]drift.Contest{},
	}
	for _, spec := range c.CSV.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
		c.Certificates[spec.Name] = managerv1alpha1.CertificateStatus{Phase: managerv1alpha1.CertificateStable, CAFingerprint: "fingerprint"}
	}
	return c
}

// webhookOf returns the validating webhook "v.<deployment>.example.com" of a Deployment.
func webhookOf(deployment string, changes ...func(*operatorsv1alpha1.WebhookDescription)) operatorsv1alpha1.WebhookDescription {
	d := installtest.ServedBy(deployment, named("v."+deployment+".example.com"))
	d.SideEffects = new(admissionregistrationv1.SideEffectClassNone)
	for _, change := range changes {
		change(&d)
	}
	return d
}

func mutatingNamed(generateName string) func(*operatorsv1alpha1.WebhookDescription) {
	return func(d *operatorsv1alpha1.WebhookDescription) {
		d.Type, d.GenerateName = operatorsv1alpha1.MutatingAdmissionWebhook, generateName
	}
}

func onTarget(port string) func(*operatorsv1alpha1.WebhookDescription) {
	return func(d *operatorsv1alpha1.WebhookDescription) { d.TargetPort = new(intstr.Parse(port)) }
}

func (c *cluster) declare(deployment string) {
	specs := &c.CSV.Spec.InstallStrategy.StrategySpec.DeploymentSpecs
	*specs = append(*specs, installtest.DeploymentOf(deployment))
}

func (c *cluster) spec(deployment string) *operatorsv1alpha1.StrategyDeploymentSpec {
	specs := c.CSV.Spec.InstallStrategy.StrategySpec.DeploymentSpecs
	for i := range specs {
		if specs[i].Name == deployment {
			return &specs[i]
		}
	}
	return nil
}

func (c *cluster) next() Plan {
	c.Desired = c.rendered(c.ToRender())
	for i := range c.Desired.Deployments {
		c.Desired.Deployments[i].Adopted = c.adopted
	}
	c.Maintained = nil
	for _, served := range c.ToMaintain() {
		c.Maintained = append(c.Maintained, c.MaintainedDeployments(served, c.rendered(served).Deployments)...)
	}
	c.HaveObserved = nil
	plan := Next(c.Input, c.now)
	if plan.AskAPIServers {
		c.HaveObserved = &ending.Found{At: c.now, Behind: c.behind}
		plan = Next(c.Input, c.now)
	}
	// The next decision has the answer.
	c.Observed.APIServers = c.Observed.APIServers.With(plan.AskBeginnings, c.now, c.now, c.behind, c.unknown)
	return plan
}

func (c *cluster) rendered(csv *operatorsv1alpha1.ClusterServiceVersion) render.Desired {
	in := render.Input{
		CSV: csv, Scope: scope.Scope{Group: c.group, Namespaces: []string{""}}, Services: map[string]string{},
		Configurations: c.Observed.Configurations(csv), Trust: map[string]render.Trust{},
		Delegations: map[string]permissions.Delegation{},
	}
	for _, spec := range csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
		in.Services[spec.Name] = names.Service(spec.Name)
		in.Delegations[spec.Name] = permissions.UsualDelegation(names.Service(spec.Name))
		if len(csvspec.Descriptions(csv, spec.Name)) > 0 {
			in.Trust[spec.Name] = c.trust
		}
	}
	return render.Objects(in)
}

// reconcile probes the endpoints of the plan, carries out its steps, and stores status and phases. It returns the plan.
func (c *cluster) reconcile() Plan {
	c.t.Helper()
	c.Observed.Answers = map[backends.Endpoint]backends.Answer{}
	plan := c.next()
	if len(plan.Probes) > 0 {
		for _, e := range plan.Probes {
			c.Observed.Answers[e] = c.answer(e)
		}
		plan = c.next()
	}
	if len(plan.Probes) > 0 {
		c.t.Fatalf("all endpoints answered and the plan asks for %v", plan.Probes)
	}
	for _, step := range plan.Steps {
		if c.writes--; c.writes == -1 {
			return plan
		}
		c.carryOut(step)
	}
	c.Previous = *plan.Status.DeepCopy()
	at := metav1.NewTime(c.now)
	for _, p := range plan.Phases {
		csvstatus.Set(c.CSV, p.Phase, p.Reason, p.Message, at)
	}
	return plan
}

func (c *cluster) wait(d time.Duration) { c.now = c.now.Add(d) }

// installed returns a cluster an hour after the operator succeeded.
func installed(t *testing.T, webhooks ...operatorsv1alpha1.WebhookDescription) *cluster {
	t.Helper()
	c := clusterWith(t, webhooks...).succeed()
	c.wait(time.Hour)
	return c
}

func (c *cluster) succeed() *cluster {
	c.t.Helper()
	for i := 0; c.CSV.Status.Phase != succeeded; i++ {
		if i == 10 {
			c.t.Fatalf("the operator is %s (%s): %s", c.CSV.Status.Phase, c.CSV.Status.Reason, c.CSV.Status.Message)
		}
		c.reconcileTimes(1)
		c.setAPIServiceAvailable(apiregistrationv1.ConditionTrue, "Passed", "")
	}
	return c
}

// reconcileTimes reconciles n times. Each time, all Deployments become available.
func (c *cluster) reconcileTimes(n int) {
	c.t.Helper()
	for range n {
		c.reconcile()
		for name := range c.Observed.Deployments {
			c.becomeAvailable(name)
		}
		c.wait(5 * time.Second)
	}
}

func deletes(step Step) bool { return step.Verb == Delete }

// stepsOf returns a line for each write of a plan, with the drift. Names of registrations have no hash.
func stepsOf(plan Plan) []string {
	var lines []string
	for _, step := range plan.Steps {
		key := step.Key()
		if strings.HasSuffix(step.Kind(), "WebhookConfiguration") {
			key = key[:strings.LastIndex(key, "-")]
		}
		line := fmt.Sprintf("%s %s", step.Verb, key)
		if !step.Drift.None() {
			line += ": " + strings.Join(step.Drift.Fields, ", ")
		}
		lines = append(lines, line)
	}
	return lines
}

func webhooksOf(plan Plan) []string {
	var lines []string
	for _, d := range plan.Status.Deployments {
		for _, w := range d.Webhooks {
			lines = append(lines, fmt.Sprintf("%s %s %s: %s", w.GenerateName, w.State, w.Reason, w.Message))
		}
	}
	return lines
}

func phasesOf(plan Plan) []string {
	return lists.Map(plan.Phases, func(p phase.Phase) string { return fmt.Sprintf("%s %s: %s", p.Phase, p.Reason, p.Message) })
}

func lastPhaseOf(plan Plan) string {
	lines := phasesOf(plan)
	if len(lines) == 0 {
		return "none"
	}
	return lines[len(lines)-1]
}

func (c *cluster) expectPhase(when string, want operatorsv1alpha1.ClusterServiceVersionPhase) {
	c.t.Helper()
	installtest.Same(c.t, when+": "+c.CSV.Status.Message, want, c.CSV.Status.Phase)
}

func certificateWith(problem string) managerv1alpha1.CertificateStatus {
	return managerv1alpha1.CertificateStatus{Phase: managerv1alpha1.CertificateBootstrap, Message: problem}
}

func wrote(manager, fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{
		Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate,
		Time:     &metav1.Time{Time: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)},
		FieldsV1: metav1.NewFieldsV1(fields),
	}
}

func serves(backends.Endpoint) backends.Answer { return backends.Answer{} }

func refuses(e backends.Endpoint) backends.Answer {
	return backends.Answer{Reason: "Refused", Message: e.What + " refuses"}
}
