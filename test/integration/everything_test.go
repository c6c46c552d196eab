package integration

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// A ClusterServiceVersion with all that is created outside of its namespace is installed and uninstalled, while
// managers die at their writes (see stride). It lacks nothing then, and leaves nothing.
func TestManagersThatDieAtEachWrite(t *testing.T) {
	e := newOperatorEnv(t)
	crd := newCRD(e, "engines", "v1", "v2")
	serviceAccount(e, &corev1.ServiceAccount{ObjectMeta: named("account")})
	bindRoleIn(e, e.namespace, e.namespace+"-reader")
	api := playAPI(e)
	api.group = "apis." + e.namespace + ".com"
	// Its bindings are the whole cluster's: a manager that found their names taken would die before it could take others.
	api.deployment = e.namespace
	for _, v := range crd.Spec.Versions {
		awaitObject(e, api.apis.ApiregistrationV1().APIServices(), v.Name+"."+crd.Spec.Group)
	}
	before := e.surroundings()

	e.create(e.everything(api, crd.Name))
	dieUntil(e, "there is a Service", atItsFirstWrite, func() bool { return len(e.owned(derived[:1])) > 0 })
	api.start()
	dieUntil(e, "it is installed", atItsFirstWrite, func() bool { return e.get("operator.v1").Status.Phase == operatorsv1alpha1.CSVPhaseSucceeded })
	lives := e.managers
	m := e.manage(lifting)
	m.settles("operator.v1")
	m.stop()
	e.succeeds("operator.v1")
	api.isAvailable()
	made := before.changes(e.surroundings())
	for _, what := range []string{
		"apiservices.apiregistration.k8s.io", "validatingwebhookconfigurations", "mutatingwebhookconfigurations", "customresourcedefinitions",
		"clusterroles", "clusterrolebindings.rbac.authorization.k8s.io /" + e.namespace + "-reader", "auth-delegator", "auth-reader",
	} {
		if !strings.Contains(made, what) {
			t.Errorf("no manager made or changed any of %s:\n%s", what, made)
		}
	}

	e.must(e.olm.ClusterServiceVersions(e.namespace).Delete(e.ctx, "operator.v1", metav1.DeleteOptions{}))
	dieUntil(e, "it is uninstalled", atOneWriteMore, func() bool { return isGone(e, "operator.v1") })
	leavesNothing(e)
	same(t, "changes outside of its namespace", before.changes(e.surroundings()), "")
	t.Logf("%d managers died while it was installed, %d while it was uninstalled", lives, e.managers-lives-1)
}

func lifting(o *controller.Options) { o.LiftRoles, o.Workers = true, 1 }

func (e *env) everything(api *playedAPI, crd string) *operatorsv1alpha1.ClusterServiceVersion {
	c := asking(api.ownedBy(converting("operator.v1", crd)), readPods)
	mutating := webhook("m.example.com", "server")
	mutating.Type = operatorsv1alpha1.MutatingAdmissionWebhook
	c.Spec.WebhookDefinitions[0].GenerateName = "c.example.com"
	c.Spec.WebhookDefinitions = append(c.Spec.WebhookDefinitions, webhook("v.example.com", "server"), mutating)
	c.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0].Name = api.deployment
	for i := range c.Spec.WebhookDefinitions {
		c.Spec.WebhookDefinitions[i].DeploymentName = api.deployment
	}
	return c
}

// What a manager has done for an installation, the next does not do again.
func atItsFirstWrite(int) int { return stride() }

// An uninstallation begins from the front, for everything that the caches may not show.
func atOneWriteMore(life int) int { return 1 + (life-1)*stride() }

// dieUntil lets one manager after the other die at one of its writes, before it learns what became of it.
func dieUntil(e *env, what string, at func(life int) int, ended func() bool) {
	e.Helper()
	var wrote []string
	for life := 1; !ended(); life++ {
		if life > 100 {
			e.Fatalf("%d managers died, and not yet: %s; their last writes were %q", life, what, wrote)
		}
		dead := make(chan struct{})
		die := sync.OnceFunc(func() { close(dead) })
		proxy := proxy(e, func(n int, _ *http.Request) kube.Verdict {
			switch last := at(life); {
			case n < last:
				return kube.Pass
			case n == last:
				die()
				return kube.DropAfter
			default:
				return kube.DropBefore
			}
		})
		m := manageThrough(e, proxy.Config(), lifting)
		e.eventually("a manager dies, or "+what, func() (bool, any) {
			select {
			case <-dead:
				return true, nil
			default:
				return ended(), nil
			}
		})
		m.stop()
		proxy.Close()
		if writes := proxy.Writes(); len(writes) >= at(life) {
			wrote = append(wrote, writes[at(life)-1])
		}
	}
}

// surroundings are everything beyond the test's Namespace that mentions it, as it is declared.
type surroundings map[string]map[string]any

func (e *env) surroundings() surroundings {
	e.Helper()
	all := surroundings{}
	lists, err := e.kube.Discovery().ServerPreferredResources()
	if !discovery.IsGroupDiscoveryFailedError(err) { // the APIs of other tests come and go
		e.must(err)
	}
	for _, list := range discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list"}}, lists) {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		e.must(err)
		for _, r := range list.APIResources {
			if ofATest.MatchString(gv.Group) || r.Kind == "IPAddress" { // which is deleted with its Service
				continue
			}
			for _, o := range kube.List(e, e.any.Resource(gv.WithResource(r.Name)), metav1.ListOptions{}).Items {
				if o.GetNamespace() != e.namespace && o.GetName() != e.namespace {
					all.add(gv.WithResource(r.Name).GroupResource().String(), o, e.namespace)
				}
			}
		}
	}
	return all
}

var ofATest = regexp.MustCompile(`\bt-[a-z0-9]{5}\b`)

func (o surroundings) add(resource string, object unstructured.Unstructured, mentioned string) {
	delete(object.Object, "status")
	for _, field := range []string{"managedFields", "resourceVersion", "generation"} {
		unstructured.RemoveNestedField(object.Object, "metadata", field)
	}
	if text, err := json.Marshal(object.Object); err == nil && strings.Contains(string(text), mentioned) {
		o[resource+" "+object.GetNamespace()+"/"+object.GetName()] = object.Object
	}
}

func (o surroundings) changes(now surroundings) string { return gocmp.Diff(o, now) }
