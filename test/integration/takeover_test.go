package integration

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/takeover"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// A ClusterServiceVersion that is held stays as olm-operator made it, also while its certificate is rotated.
func TestHeldTakeover(t *testing.T) {
	e := newOperatorEnv(t)
	installedByOLM(e, csv("operator.v1", "server", "operator"), wellknown.TakeoverHeld)
	before, registered := deploymentsOf(e), e.registration("v.example.com").UID

	m := e.manage()
	takeoverIs(e, managerv1alpha1.TakeoverAdopted, "server", "operator")
	m.settles("operator.v1")
	writesOnlyTrust(m)
	trust, first := watchTrust(e), e.servingCA()
	e.order("once")
	rotates(e, 1)
	m.settles("operator.v1")
	writesOnlyTrust(m)
	trust.neverWithout(first, e.servingCA())
	same(t, "the Deployments", deploymentsOf(e), before)
	same(t, "the uid of the registration", e.registration("v.example.com").UID, registered)
	takeoverIs(e, managerv1alpha1.TakeoverAdopted, "server", "operator")

	// The next rollout is in the manager's form.
	e.edit("operator.v1", func(c *operatorsv1alpha1.ClusterServiceVersion) { container(c).Image = "example.com/server:2" })
	takeoverIs(e, managerv1alpha1.TakeoverAdopted, "operator")
	same(t, "the label of the pods", e.deployment("server").Spec.Template.Labels[wellknown.LabelCSV], "operator.v1")
	same(t, "the untouched Deployment", deploymentsOf(e)["operator"], before["operator"])
}

// The pods of an adopted Deployment lack the manager's label. It reports why they do not run, all the same.
func TestPodsOfAnAdoptedDeployment(t *testing.T) {
	e := newOperatorEnv(t, "server")
	installedByOLM(e, csv("operator.v1", "server"), wellknown.TakeoverHeld)
	pod := kube.Create(e, e.kube.CoreV1().Pods(e.namespace), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "server-0", Labels: map[string]string{"app": "server"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "server", Image: "example.com/server:1"}}, AutomountServiceAccountToken: new(false)},
	})
	e.manage()
	kube.Patch(e, e.kube.CoreV1().Pods(e.namespace), pod.Name, types.MergePatchType, []byte(`{"status": {"phase": "Pending", "containerStatuses": [
		{"name": "server", "image": "example.com/server:1", "imageID": "", "ready": false, "restartCount": 0, "state": {"waiting": {"reason": "ErrImagePull", "message": "no such image"}}}]}}`), "status")
	e.eventually("the status reports why the pod waits", func() (bool, any) {
		deployments := e.rollout("operator.v1").Deployments
		return len(deployments) == 1 && strings.Contains(deployments[0].Message, "no such image"), deployments
	})
}

func TestConvergedTakeover(t *testing.T) {
	e := newOperatorEnv(t)
	installedByOLM(e, csv("operator.v1", "server", "operator"), wellknown.TakeoverHeld)
	registered := e.registration("v.example.com").UID
	m := e.manage()
	takeoverIs(e, managerv1alpha1.TakeoverAdopted, "server", "operator")
	orderTakeover(e, wellknown.TakeoverConverge)
	takeoverIs(e, managerv1alpha1.TakeoverConverged)
	for name, d := range deploymentsOf(e) {
		same(t, "the label of the pods of "+name, d.Spec.Template.Labels[wellknown.LabelCSV], "operator.v1")
	}
	same(t, "the uid of the registration", e.registration("v.example.com").UID, registered)
	orderTakeover(e, "")
	e.eventually("there is no report any more", func() (bool, any) {
		status := e.rollout("operator.v1").Takeover
		return status == nil, status
	})
	m.settles("operator.v1")
}

// A ClusterServiceVersion is given back so that olm-operator changes nothing, and its pods stay.
func TestReturnToOLM(t *testing.T) {
	rotate := func(generation int64) func(*env, *manager) {
		return func(e *env, _ *manager) { e.Helper(); e.order("once"); rotates(e, generation) }
	}
	converge := func(e *env, _ *manager) {
		e.Helper()
		orderTakeover(e, wellknown.TakeoverConverge)
		takeoverIs(e, managerv1alpha1.TakeoverConverged)
	}
	for name, steps := range map[string][]func(*env, *manager){
		"at once":                             nil,
		"after a rotation":                    {rotate(1)},
		"converged":                           {converge},
		"converged, after a rotation":         {converge, rotate(1)},
		"given back before":                   {giveBack, hold, rotate(1)},
		"given back before, after a rotation": {rotate(1), giveBack, hold},
	} {
		t.Run(name, func(t *testing.T) {
			e := newOperatorEnv(t)
			installedByOLM(e, csv("operator.v1", "server", "operator"), wellknown.TakeoverHeld)
			m := e.manage()
			takeoverIs(e, managerv1alpha1.TakeoverAdopted, "server", "operator")
			for _, step := range steps {
				step(e, m)
			}
			before, registered, phases := templatesOf(e), e.registration("v.example.com").UID, phasesOf(e, "operator.v1")
			giveBack(e, m)
			acceptedByOLM(e, "operator.v1")
			same(t, "the phases", phasesOf(e, "operator.v1"), phases)
			same(t, "the pods", templatesOf(e), before)
			same(t, "the uid of the registration", e.registration("v.example.com").UID, registered)

			orderTakeover(e, wellknown.TakeoverGivenBack)
			m.settles("operator.v1")
			since := auditEnd(e)
			e.must(e.kube.CoreV1().Services(e.namespace).Delete(e.ctx, "server-service", metav1.DeleteOptions{}))
			m.looksAgain("operator.v1")
			m.writesNothing(since)
		})
	}
}

// phasesOf returns the phases that a version has had, with their reasons.
func phasesOf(e *env, csv string) []string {
	e.Helper()
	return lists.Map(e.get(csv).Status.Conditions, func(c operatorsv1alpha1.ClusterServiceVersionCondition) string {
		return string(c.Phase) + " " + string(c.Reason)
	})
}

func giveBack(e *env, _ *manager) {
	e.Helper()
	orderTakeover(e, wellknown.TakeoverGiveBack)
	takeoverIs(e, managerv1alpha1.TakeoverGivenBack)
}

func hold(e *env, _ *manager) {
	e.Helper()
	orderTakeover(e, wellknown.TakeoverHeld)
	takeoverIs(e, managerv1alpha1.TakeoverAdopted, "server", "operator")
}

func formOf(e *env) managerv1alpha1.TakeoverForm {
	e.Helper()
	for _, r := range kube.List(e, e.olm.WebhookRollouts(e.namespace), metav1.ListOptions{}).Items {
		if r.Status.Takeover != nil {
			return r.Status.Takeover.Form
		}
	}
	return ""
}

func orderTakeover(e *env, order string) {
	e.Helper()
	e.edit("operator.v1", func(c *operatorsv1alpha1.ClusterServiceVersion) {
		if c.Labels[wellknown.LabelTakeover] = order; order == "" {
			delete(c.Labels, wellknown.LabelTakeover)
		}
	})
}

func takeoverIs(e *env, form managerv1alpha1.TakeoverForm, deployments ...string) {
	e.Helper()
	e.eventually("the takeover is "+string(form), func() (bool, any) {
		rollouts := kube.List(e, e.olm.WebhookRollouts(e.namespace), metav1.ListOptions{}).Items
		if len(rollouts) == 0 || rollouts[0].Status.Takeover == nil {
			return false, rollouts
		}
		status := rollouts[0].Status.Takeover
		return status.Form == form && slices.Equal(status.Deployments, deployments), status
	})
}

// deploymentsOf returns the Deployments as clients wrote them.
func deploymentsOf(e *env) map[string]appsv1.Deployment {
	e.Helper()
	all := map[string]appsv1.Deployment{}
	for _, d := range kube.List(e, e.kube.AppsV1().Deployments(e.namespace), metav1.ListOptions{}).Items {
		d.ManagedFields, d.ResourceVersion, d.Status = nil, "", appsv1.DeploymentStatus{}
		all[d.Name] = d
	}
	return all
}

func templatesOf(e *env) map[string]corev1.PodTemplateSpec {
	e.Helper()
	all := map[string]corev1.PodTemplateSpec{}
	for name, d := range deploymentsOf(e) {
		all[name] = d.Spec.Template
	}
	return all
}

// writesOnlyTrust fails if the manager wrote more than certificates, caBundles and reports.
func writesOnlyTrust(m *manager) {
	m.Helper()
	for _, write := range m.writes(m.started) {
		resource := strings.Fields(write)[1]
		if !slices.Contains([]string{
			"secrets", "validatingwebhookconfigurations", "webhookrollouts", "webhookrollouts/status", "clusterserviceversions/status", "operatorgroups/status",
			"operatorgroups", "namespaces", "operatorconditions", "operatorconditions/status",
		}, resource) && write != "create roles operator.v1" && write != "create rolebindings operator.v1" {
			m.Errorf("the manager wrote: %s", write)
		}
	}
}

// What admission changed in olm-operator's write stays: the hash shows that the ClusterServiceVersion is the same.
func TestHeldDeploymentChangedByAdmission(t *testing.T) {
	e := newOperatorEnv(t)
	remove := mutate(e, []string{"deployments"}, `JSONPatch{op: "replace", path: "/spec/template/spec/containers/0/image", value: "mirror.example.com/server:1"}`)
	installedByOLM(e, csv("operator.v1", "server"), wellknown.TakeoverHeld)
	remove()
	before := deploymentsOf(e)
	same(t, "the image", before["server"].Spec.Template.Spec.Containers[0].Image, "mirror.example.com/server:1")
	m := e.manage()
	takeoverIs(e, managerv1alpha1.TakeoverAdopted, "server")
	m.settles("operator.v1")
	same(t, "the Deployments", deploymentsOf(e), before)
}

// A new version has no order: it replaces a held one in the manager's form, and the webhook stays registered.
func TestUpgradeOfAHeldVersion(t *testing.T) {
	e := newOperatorEnv(t)
	installedByOLM(e, csv("operator.v1", "server"), wellknown.TakeoverHeld)
	registered := e.registration("v.example.com").UID
	e.manage()
	takeoverIs(e, managerv1alpha1.TakeoverAdopted, "server")
	next := replacing("operator.v1", csv("operator.v2", "server"))
	container(next).Image = "example.com/server:2"
	e.install(next)
	e.eventually("the held version is deleted", func() (bool, any) { return isGone(e, "operator.v1"), nil })
	same(t, "the label of the pods", e.deployment("server").Spec.Template.Labels[wellknown.LabelCSV], "operator.v2")
	same(t, "the uid of the registration", e.registration("v.example.com").UID, registered)
}

func TestUninstallDuringATakeover(t *testing.T) {
	for order, prepare := range map[string]func(*env, *manager){
		wellknown.TakeoverHeld: func(*env, *manager) {},
		wellknown.TakeoverGivenBack: func(e *env, m *manager) {
			giveBack(e, m)
			orderTakeover(e, wellknown.TakeoverGivenBack)
		},
	} {
		t.Run(order, func(t *testing.T) {
			e := newOperatorEnv(t)
			installedByOLM(e, csv("operator.v1", "server"), wellknown.TakeoverHeld)
			m := e.manage()
			takeoverIs(e, managerv1alpha1.TakeoverAdopted, "server")
			prepare(e, m)
			e.uninstall("operator.v1")
			leavesNothing(e)
		})
	}
}

// A conversion of olm-operator is held and given back. Garbage collection deletes its server with the version again.
func TestReturnOfAConversion(t *testing.T) {
	e := newOperatorEnv(t)
	crd := newCRD(e, "engines", "v1", "v2")
	c := converting("operator.v1", crd.Name)
	c.Spec.WebhookDefinitions[0].GenerateName = "c.example.com"
	c.Spec.WebhookDefinitions = append(c.Spec.WebhookDefinitions, webhook("v.example.com", "server"))
	installedByOLM(e, c, wellknown.TakeoverHeld)
	before, converted := templatesOf(e), conversion(e, crd.Name)
	m := e.manage()
	takeoverIs(e, managerv1alpha1.TakeoverAdopted, "server")
	m.settles("operator.v1")
	same(t, "the conversion", conversion(e, crd.Name), converted)
	becomes(e, "the definition owns its server", func() int { return len(e.deployment("server").OwnerReferences) }, 2)
	giveBack(e, m)
	acceptedByOLM(e, "operator.v1")
	same(t, "the pods", templatesOf(e), before)
	same(t, "the number of owners", len(e.deployment("server").OwnerReferences), 1)
	same(t, "the conversion", conversion(e, crd.Name), converted)
}

// olm-operator requires that the pods of an APIService's server name the CA that the APIService trusts. So they are replaced
// only after a rotation, in the form of olm-operator.
func TestReturnOfAnAPIService(t *testing.T) {
	e := newOperatorEnv(t)
	a := playAPI(e)
	c := installedByOLM(e, a.ownedBy(csv("operator.v1", "server")), wellknown.TakeoverHeld)
	registered := a.registeredByOLM(c)
	a.start()
	a.isAvailable()
	before := templatesOf(e)
	m := e.manage()
	takeoverIs(e, managerv1alpha1.TakeoverAdopted, "server")
	m.settles("operator.v1")
	same(t, "the APIService", a.registered().Spec, registered.Spec)
	giveBack(e, m)
	acceptedByOLM(e, "operator.v1")
	same(t, "the pods", templatesOf(e), before)

	orderTakeover(e, wellknown.TakeoverHeld)
	takeoverIs(e, managerv1alpha1.TakeoverAdopted, "server")
	e.order("once")
	rotates(e, 1)
	same(t, "the pods that are held", templatesOf(e), before)
	giveBack(e, m)
	acceptedByOLM(e, "operator.v1")
	same(t, "the hash of the CA in the pods", templateHash(e), takeover.BundleHash(a.registered().Spec.CABundle))
	same(t, "the label of the manager", e.deployment("server").Spec.Template.Labels[wellknown.LabelCSV], "")
	same(t, "the uid of the APIService", a.registered().UID, registered.UID)
}
