package integration

import (
	"cmp"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	testingclock "k8s.io/utils/clock/testing"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller"
)

// Whatever is missing wakes the ClusterServiceVersion by its appearance alone: nothing else
// happens meanwhile, which is why it runs alone, and nobody looks by the clock: an hour of it goes by
// before, without a look.
func TestWhatAppearsWakes(t *testing.T) {
	e := newEnv(t)
	e.group("og", namespaces(e.namespace))
	clock := testingclock.NewFakeClock(time.Now())
	m := e.manage(func(o *controller.Options) { o.Clock = clock })
	c := askingTheCluster(asking(csv("operator.v1", "server"), readPods), readNodes)
	c.Spec.CustomResourceDefinitions.Owned = []operatorsv1alpha1.CRDDescription{{Name: "ponds.owned." + e.namespace + ".com", Version: "v1", Kind: "Pond"}}
	c.Spec.NativeAPIs = []metav1.GroupVersionKind{{Group: "native." + e.namespace + ".com", Version: "v1", Kind: "Pond"}}
	c.Spec.APIServiceDefinitions.Required = []operatorsv1alpha1.APIServiceDescription{{Group: "required." + e.namespace + ".com", Version: "v1", Kind: "Pond"}}
	e.bindReader()
	e.bindReaderEverywhere()
	e.create(c)
	for _, step := range []struct {
		appears   string
		make      func()
		lacks     int // requirements that are not there
		satisfied int // rules of the ServiceAccount
	}{
		{"", func() {}, 4, 0},
		{"a definition", func() { e.define("owned."+e.namespace+".com", "v1") }, 3, 0},
		{"a native API", func() { e.define("native."+e.namespace+".com", "v1") }, 2, 0},
		{"an APIService", func() { e.define("required."+e.namespace+".com", "v1") }, 1, 0},
		{"the ServiceAccount", func() { e.serviceAccount(&corev1.ServiceAccount{ObjectMeta: named("account")}) }, 0, 0},
		{"the Role", e.makeReader, 0, 1},
		{"the ClusterRole", e.makeReaderEverywhere, 0, 2},
		{"", e.unbindReader, 0, 1},
		{"the RoleBinding", e.bindReader, 0, 2},
		{"", e.unbindReaderEverywhere, 0, 1},
		{"the ClusterRoleBinding", e.bindReaderEverywhere, 0, 2},
	} {
		if step.appears != "" {
			m.rests(func() { clock.Step(time.Minute) })
		}
		step.make()
		e.eventually("it is seen that there is "+cmp.Or(step.appears, "less"), func() (bool, any) {
			clock.Step(time.Second) // an API that is there may have to be asked again whether it serves
			requirements := e.get("operator.v1").Status.RequirementStatus
			lacks, satisfied := 0, 0
			for _, r := range requirements {
				if r.Status == operatorsv1alpha1.RequirementStatusReasonNotPresent {
					lacks++
				}
				for _, rule := range r.Dependents {
					if rule.Status == operatorsv1alpha1.DependentStatusReasonSatisfied {
						satisfied++
					}
				}
			}
			return len(requirements) == 4 && lacks == step.lacks && satisfied == step.satisfied, requirements
		})
	}
	go wait.Until(func() { clock.Step(time.Second) }, 10*time.Millisecond, e.ctx.Done())
	e.reaches("operator.v1", operatorsv1alpha1.CSVPhaseInstalling, operatorsv1alpha1.CSVReasonWaiting)
	e.setAvailable("server", true)
	e.succeeds("operator.v1")
	e.must(e.kube.AppsV1().Deployments(e.namespace).Delete(e.ctx, "server", metav1.DeleteOptions{}))
	e.eventually("the Deployment is back", func() (bool, any) { return e.deployment("server") != nil, nil })
}

var readNodes = rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"get"}}

// reader is how the roles of the account and their bindings are called, here and everywhere.
func (e *env) reader() metav1.ObjectMeta { return named("reader-of-" + e.namespace) }

func (e *env) makeReader() {
	e.Helper()
	_, err := e.kube.RbacV1().Roles(e.namespace).Create(e.ctx, &rbacv1.Role{ObjectMeta: e.reader(), Rules: []rbacv1.PolicyRule{readPods}}, metav1.CreateOptions{})
	e.must(err)
}

func (e *env) makeReaderEverywhere() {
	e.Helper()
	_, err := e.kube.RbacV1().ClusterRoles().Create(e.ctx, &rbacv1.ClusterRole{ObjectMeta: e.reader(), Rules: []rbacv1.PolicyRule{readNodes}}, metav1.CreateOptions{})
	e.must(err)
}

func (e *env) bindReader() {
	e.Helper()
	_, err := e.kube.RbacV1().RoleBindings(e.namespace).Create(e.ctx, &rbacv1.RoleBinding{
		ObjectMeta: e.reader(), Subjects: e.accountAsSubject(), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: e.reader().Name},
	}, metav1.CreateOptions{})
	e.must(err)
}

func (e *env) bindReaderEverywhere() {
	e.Helper()
	_, err := e.kube.RbacV1().ClusterRoleBindings().Create(e.ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: e.reader(), Subjects: e.accountAsSubject(), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: e.reader().Name},
	}, metav1.CreateOptions{})
	e.must(err)
}

func (e *env) unbindReader() {
	e.Helper()
	e.must(e.kube.RbacV1().RoleBindings(e.namespace).Delete(e.ctx, e.reader().Name, metav1.DeleteOptions{}))
}

func (e *env) unbindReaderEverywhere() {
	e.Helper()
	e.must(e.kube.RbacV1().ClusterRoleBindings().Delete(e.ctx, e.reader().Name, metav1.DeleteOptions{}))
}
