package integration

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/takeover"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// The plan has every object that run writes, also for a Deployment in another form, which the administrator accepts.
func TestTakeoverPlanOfAnotherForm(t *testing.T) {
	e := newTakeoverEnv(t)
	kube.Patch(e, e.kube.AppsV1().Deployments(e.namespace), "server", types.MergePatchType, []byte(`{"metadata":{"labels":{"olm.deployment-spec-hash":"other"}}}`))
	out, err := e.run(proxy(e.env, nil), "plan", "--accept-edits", "-o", "json")
	e.must(err)
	var plan takeover.Plan
	e.must(json.Unmarshal([]byte(out), &plan))
	e.completes("run", "--accept-edits")
	e.running.rests()
	beside := func(all []takeover.Object) []string {
		return in(e.namespace, slices.DeleteFunc(all, func(o takeover.Object) bool {
			return !slices.Contains([]string{"Service", "Role", "RoleBinding"}, o.Kind)
		}))
	}
	same(t, "objects next to Deployments that the plan has", beside(changedByPlan(plan)), beside(changedBy(e.running)))
}

// userWith may read every kind that the cluster has, except for those of the core that the rules lack, and has the other
// permissions of docs/admin/takeover.md.
func (e *takeoverEnv) userWith(name string, core ...string) *kube.Proxy {
	e.Helper()
	user := name + "-" + e.namespace
	read := []string{"get", "list", "watch"}
	may := func(group string, verb string, resources ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: append(slices.Clone(read), verb)}
	}
	rules := []rbacv1.PolicyRule{
		may("", "get", core...), may("operators.coreos.com", "patch", "*"), may("apps", "patch", "*"),
		may("olm-webhook-manager.io", "delete", "*"), may("admissionregistration.k8s.io", "delete", "*"),
		{APIGroups: []string{"policy", "apiextensions.k8s.io", "apiregistration.k8s.io", "discovery.k8s.io", "rbac.authorization.k8s.io", "autoscaling"}, Resources: []string{"*"}, Verbs: read},
		{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}},
	}
	kube.CreateTemporary(e, e.kube.RbacV1().ClusterRoles(), &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: user}, Rules: rules})
	kube.CreateTemporary(e, e.kube.RbacV1().ClusterRoleBindings(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: user},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}},
	})
	config := cluster.Config()
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:authenticated"}}
	p := installtest.OrPanic(kube.NewProxy(config, nil))
	e.Cleanup(p.Close)
	return p
}

// A user who is no cluster administrator, and may read every kind that the cluster has, sees a plan that is complete, except
// for the pods that no port-forward reaches. The cluster has no ClusterVersion: it is not OpenShift.
func TestTakeoverPlanWithDocumentedPermissions(t *testing.T) {
	e := newTakeoverEnv(t)
	for _, command := range []string{"status", "plan"} {
		out, err := e.run(e.userWith(command, "*"), command)
		e.must(err)
		installtest.Same(t, "OpenShift is not checked", false, strings.Contains(out, "clusterversions"))
	}
}

// A user who may not list Secrets sees that their changes are not in the plan.
func TestTakeoverPlanWithoutSecrets(t *testing.T) {
	e := newTakeoverEnv(t)
	out, err := e.run(e.userWith("nosecrets", "services", "pods", "namespaces", "configmaps", "endpoints", "nodes", "serviceaccounts"), "plan")
	e.must(err)
	line := "Not checked: what run changes in secrets of namespace " + e.namespace + ": the user needs the permission to list them\n"
	same(t, "lines about Secrets", strings.Count(out, line), 1)
}

// A client that applies the Deployment of the manager with 0 replicas, as docs/admin/takeover.md installs it, scales it to 0
// again after olm-operator has stopped.
func TestTakeoverOfAManagerScaledByOthers(t *testing.T) {
	e := newTakeoverEnv(t)
	deployments := e.kube.AppsV1().Deployments(e.namespace)
	kube.Patch(e, deployments, managerName, types.MergePatchType, []byte(`{"metadata":{"annotations":{"argocd.argoproj.io/tracking-id":"webhooks"}}}`))
	e.blockedBy("ManagerScaledByOthers")
	kube.Patch(e, deployments, managerName, types.MergePatchType, []byte(`{"metadata":{"annotations":null}}`))
	e.plan()
	_, err := deployments.Patch(e.ctx, managerName, types.ApplyPatchType, []byte(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"`+managerName+`"},"spec":{"replicas":0}}`),
		metav1.PatchOptions{FieldManager: "argocd-controller"})
	e.must(err)
	e.blockedBy("ManagerScaledByOthers")
	kube.Patch(e, deployments, managerName, types.MergePatchType, []byte(`{"metadata":{"managedFields":[{}]}}`))
	e.plan()
}

// If the metrics of no API server can be read, the plan and the first line of the command report it. The command continues.
func TestTakeoverWithoutMetrics(t *testing.T) {
	e := newTakeoverEnv(t)
	config := cluster.Config()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.URL.Path == "/metrics" {
				return &http.Response{StatusCode: http.StatusForbidden, Request: r, Header: http.Header{}, Body: http.NoBody}, nil
			}
			return next.RoundTrip(r)
		})
	})
	p := installtest.OrPanic(kube.NewProxy(config, nil))
	e.Cleanup(p.Close)
	const text = "failed calls of webhooks: the metrics of no API server can be read"
	out, err := e.run(p, "plan")
	e.must(err)
	installtest.Contains(t, out, "Not checked: "+text)
	for _, command := range [][]string{runCommand, convergeCommand, undoCommand} {
		out, err = e.run(p, command...)
		e.must(err)
		first, _, _ := strings.Cut(out, "\n")
		installtest.Contains(t, first, "Not measured: "+text)
		installtest.Contains(t, out, "calls of webhooks: not counted")
	}
}
