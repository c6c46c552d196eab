package integration

import (
	"cmp"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	testingclock "k8s.io/utils/clock/testing"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// Everything that is missing wakes the ClusterServiceVersion by its appearance alone. The test runs alone, and no timer
// fires: an hour passes before it without a reconciliation.
func TestWhatAppearsWakes(t *testing.T) {
	e := newEnv(t)
	clock := testingclock.NewFakeClock(time.Now())
	m := e.manage(func(o *controller.Options) { o.Clock = clock })
	for _, step := range lackAll(e) {
		if step.appears != "" {
			m.rests(func() { clock.Step(time.Minute) })
		}
		step.make()
		e.eventually("it is observed that there is "+cmp.Or(step.appears, "less"), func() (bool, any) {
			clock.Step(time.Second) // an API that exists may have to be asked again whether it serves
			requirements := e.get("operator.v1").Status.RequirementStatus
			return step.isSeen(requirements), requirements
		})
	}
	go wait.Until(func() { clock.Step(time.Second) }, 10*time.Millisecond, e.ctx.Done())
	e.reaches("operator.v1", operatorsv1alpha1.CSVPhaseInstalling, operatorsv1alpha1.CSVReasonWaiting)
	serverStarts(e)
	e.must(e.kube.AppsV1().Deployments(e.namespace).Delete(e.ctx, "server", metav1.DeleteOptions{}))
	e.eventually("the Deployment is back", func() (bool, any) { return e.deployment("server") != nil, nil })
}

// The status reports within a second what has appeared, from when the API server serves it. The test runs alone, so
// that nothing else wakes the manager.
func TestWhatAppearsIsSeenWithinASecond(t *testing.T) {
	e := newEnv(t)
	m := manageByOwnClock(e, cluster.Config())
	steps := lackAll(e)
	w := watchVersions(e)
	for _, step := range steps {
		m.restsFor(5) // so that no other reconciliation observes it
		step.make()
		m.becomes(w, step.isSeen)
	}
	m.flows()
	e.reaches("operator.v1", operatorsv1alpha1.CSVPhaseInstalling, operatorsv1alpha1.CSVReasonWaiting)
}

// No event announces a newer API server. The manager asks for the version every 30 s while a ClusterServiceVersion
// waits for it. Here the API server answers as after an upgrade.
func TestNewerKubernetesIsObserved(t *testing.T) {
	e := newEnv(t)
	e.group("og", allNamespaces)
	var upgraded atomic.Bool
	config := cluster.Config()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.URL.Path != "/version" || upgraded.Load() {
				return next.RoundTrip(r)
			}
			return &http.Response{StatusCode: http.StatusOK, Request: r, Body: io.NopCloser(strings.NewReader(`{"gitVersion": "v1.19.5"}`))}, nil
		})
	})
	m := manageByOwnClock(e, config)
	stop := m.flows()
	c := csv("operator.v1", "server")
	c.Spec.MinKubeVersion = "1.20.0"
	e.create(c)
	e.reaches("operator.v1", operatorsv1alpha1.CSVPhasePending, operatorsv1alpha1.CSVReasonRequirementsNotMet)
	stop()
	m.restsFor(untilRest)
	before := m.passes("ClusterServiceVersion")
	for range 4 {
		m.clock.Step(longestPause / 5)
		m.restsFor(untilRest)
	}
	if asked := m.passes("ClusterServiceVersion") - before; asked > 1 {
		t.Errorf("it is reconciled %v times within less than %s", asked, longestPause)
	}
	upgraded.Store(true)
	m.clock.Step(longestPause)
	e.eventually("the newer version is observed", func() (bool, any) {
		requirements := e.get("operator.v1").Status.RequirementStatus
		return len(requirements) == 1 && requirements[0].Status == operatorsv1alpha1.RequirementStatusReasonPresent, requirements
	})
	m.flows()
	e.reaches("operator.v1", operatorsv1alpha1.CSVPhaseInstalling, operatorsv1alpha1.CSVReasonWaiting)
}

const longestPause = 30 * time.Second

// watchVersions shows the ClusterServiceVersions of the test's Namespace, as they are and as they become.
func watchVersions(e *env) watch.Interface {
	e.Helper()
	return kube.Watch(e, e.olm.ClusterServiceVersions(e.namespace), metav1.ListOptions{
		SendInitialEvents: new(true), ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
	})
}

// becomes waits a second, without asking, for what the status reports of requirements.
func (m ownClock) becomes(w watch.Interface, so func([]operatorsv1alpha1.RequirementStatus) bool) {
	m.Helper()
	m.withinASecond(w, func(event watch.Event) (bool, any) {
		c, ok := event.Object.(*operatorsv1alpha1.ClusterServiceVersion)
		if !ok || event.Type == watch.Bookmark {
			return false, event
		}
		return so(c.Status.RequirementStatus), c.Status.RequirementStatus
	})
}

// appearance is a step after which the status of a ClusterServiceVersion reports how many of its
// requirements are not there, and how many rules of its ServiceAccount are satisfied.
type appearance struct {
	appears   string // empty where something is deleted
	make      func()
	lacks     int
	satisfied int
}

func (a appearance) isSeen(requirements []operatorsv1alpha1.RequirementStatus) bool {
	lacks, satisfied := 0, 0
	for _, r := range requirements {
		if r.Status == operatorsv1alpha1.RequirementStatusReasonNotPresent {
			lacks++
		}
		satisfied += installtest.Count(r.Dependents, func(rule operatorsv1alpha1.DependentStatus) bool {
			return rule.Status == operatorsv1alpha1.DependentStatusReasonSatisfied
		})
	}
	return len(requirements) == 5 && lacks == a.lacks && satisfied == a.satisfied
}

// lackAll creates a CSV that lacks everything that one can require, and returns how it appears.
func lackAll(e *env) []appearance {
	e.Helper()
	e.group("og", namespaces(e.namespace))
	c := askingTheCluster(asking(csv("operator.v1", "server"), readPods), readNodes)
	groupOf := func(of string) string { return of + "." + e.namespace + ".com" }
	pond := func(of string) operatorsv1alpha1.CRDDescription {
		return operatorsv1alpha1.CRDDescription{Name: "ponds." + groupOf(of), Version: "v1", Kind: "Pond"}
	}
	c.Spec.CustomResourceDefinitions.Owned = []operatorsv1alpha1.CRDDescription{pond("owned")}
	c.Spec.CustomResourceDefinitions.Required = []operatorsv1alpha1.CRDDescription{pond("needed")}
	c.Spec.NativeAPIs = []metav1.GroupVersionKind{{Group: groupOf("native"), Version: "v1", Kind: "Pond"}}
	c.Spec.APIServiceDefinitions.Required = []operatorsv1alpha1.APIServiceDescription{{Group: groupOf("required"), Version: "v1", Kind: "Pond"}}
	e.bindReader()
	e.bindReaderEverywhere()
	e.create(c)
	define := func(of string) func() {
		return func() { define(e, groupOf(of), "v1"); serves(e, groupOf(of)+"/v1", "Pond") }
	}
	rbac := e.kube.RbacV1()
	return []appearance{
		{"", func() {}, 5, 0},
		{"an owned definition", define("owned"), 4, 0},
		{"a required definition", define("needed"), 3, 0},
		{"a native API", define("native"), 2, 0},
		{"an APIService", define("required"), 1, 0},
		{"the ServiceAccount", func() { serviceAccount(e, &corev1.ServiceAccount{ObjectMeta: named("account")}) }, 0, 0},
		{"the Role", func() {
			kube.Create(e, rbac.Roles(e.namespace), &rbacv1.Role{ObjectMeta: reader(e), Rules: []rbacv1.PolicyRule{readPods}})
		}, 0, 1},
		{"the ClusterRole", func() {
			kube.Create(e, rbac.ClusterRoles(), &rbacv1.ClusterRole{ObjectMeta: reader(e), Rules: []rbacv1.PolicyRule{readNodes}})
		}, 0, 2},
		{"", func() { e.must(rbac.RoleBindings(e.namespace).Delete(e.ctx, reader(e).Name, metav1.DeleteOptions{})) }, 0, 1},
		{"the RoleBinding", e.bindReader, 0, 2},
		{"", func() { e.must(rbac.ClusterRoleBindings().Delete(e.ctx, reader(e).Name, metav1.DeleteOptions{})) }, 0, 1},
		{"the ClusterRoleBinding", e.bindReaderEverywhere, 0, 2},
	}
}

var readNodes = rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"get"}}

func reader(e *env) metav1.ObjectMeta { return named("reader-of-" + e.namespace) }

func (e *env) bindReader() {
	e.Helper()
	kube.Create(e, e.kube.RbacV1().RoleBindings(e.namespace), &rbacv1.RoleBinding{
		ObjectMeta: reader(e), Subjects: accountAsSubject(e), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: reader(e).Name},
	})
}

func (e *env) bindReaderEverywhere() {
	e.Helper()
	kube.Create(e, e.kube.RbacV1().ClusterRoleBindings(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: reader(e), Subjects: accountAsSubject(e), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: reader(e).Name},
	})
}
