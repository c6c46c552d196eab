package integration

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// outside are the kinds of what the manager makes for owned APIServices where no garbage collector removes it.
var outside = []schema.GroupVersionResource{
	{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterrolebindings"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "rolebindings"},
}

func delegations(e *env) []string {
	e.Helper()
	outsiders := lists.Filter(e.owned(outside[1:]), func(o unstructured.Unstructured) bool { return o.GetNamespace() != e.namespace })
	found := lists.Map(outsiders, func(o unstructured.Unstructured) string {
		return strings.TrimPrefix(o.GetNamespace()+"/"+o.GetName(), "/")
	})
	slices.Sort(found)
	return found
}

// An owned APIService is registered when its server serves, next to a webhook of the same Deployment. Nothing is left
// when the ClusterServiceVersion is deleted.
func TestOwnedAPIService(t *testing.T) {
	e := newOperatorEnv(t)
	a := playAPI(e)
	m := e.manage(throughAPIServer)
	c := a.csv("operator.v1")
	c.Spec.WebhookDefinitions = append(c.Spec.WebhookDefinitions, webhook("v.example.com", "server"))
	e.create(c)
	message := e.reaches("operator.v1", operatorsv1alpha1.CSVPhaseInstalling, operatorsv1alpha1.CSVReasonWaiting)
	installtest.Prefix(t, "the message", "apiServices not installed: ", message)
	same(t, "the APIService before anybody serves it", a.registered(), nil)
	a.start()
	e.succeeds("operator.v1")
	a.isAvailable()
	e.must(a.call(e.ctx))
	if d := e.rollout("operator.v1").Deployments[0]; len(d.APIServices) != 1 || d.APIServices[0].Name != a.name() || d.APIServices[0].State != "Registered" {
		t.Errorf("the WebhookRollout reports about APIServices: %+v", d.APIServices)
	}
	status := e.rollout("operator.v1")
	same(t, "ready webhooks and APIServices", status.ReadyRegistrations, 2)
	same(t, "webhooks and APIServices", status.Registrations, 2)
	requires(e, operatorsv1alpha1.RequirementStatus{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService", Name: a.name(), Status: "DeploymentFound"})
	m.emits("Normal APIServiceRegistered")

	e.uninstall("operator.v1")
	a.leavesNothing()
}

// A rotation costs no call through the APIService, though it is the only registration: the
// next certificate waits until it is trusted.
func TestRotationOfAnAPIService(t *testing.T) {
	e := newOperatorEnv(t)
	a := runAPI(e, func(o *controller.Options) { o.Certificates.Settle = 3 * time.Second }) // an API server takes a caBundle up within one
	before, trust := e.servingCA(), watchTrust(e)

	ended := a.callAllTheTime()
	e.order("once")
	e.eventually("the certificate is rotated", func() (bool, any) {
		c := rotation(e)
		return c.Generation == 2 && c.Phase == "Stable" && string(a.registered().Spec.CABundle) == string(e.servingCA()), c
	})
	ended(10)
	trust.neverWithout(before, e.servingCA())
	if string(before) == string(e.servingCA()) {
		t.Error("the CA is the previous one")
	}
}

// The version that replaces another takes the APIService over, in service all the while.
func TestUpgradeOfAnAPIService(t *testing.T) {
	e := newOperatorEnv(t)
	a := runAPI(e)
	before, bindings := a.registered(), delegations(e)

	ended := a.callAllTheTime()
	e.install(replacing("operator.v1", a.csv("operator.v2")))
	noLongerExist(e, "operator.v1")
	ended(1)
	after := a.registered()
	if after.UID != before.UID || after.Labels["olm.owner"] != "operator.v2" || string(after.Spec.CABundle) != string(before.Spec.CABundle) {
		t.Errorf("the APIService is not the previous one, in other hands: %+v", after)
	}
	expect(t, delegations(e), bindings...)
	e.uninstall("operator.v2")
	a.leavesNothing()
}

// A version that has taken the APIService over and fails gives it back, and it is in service all the while.
func TestFailedUpgradeOfAnAPIService(t *testing.T) {
	e := newOperatorEnv(t, "last")
	a := runAPI(e)
	before := a.registered()

	ended := a.callAllTheTime()
	next := replacing("operator.v1", a.csv("operator.v2"))
	next.Spec.InstallStrategy.StrategySpec.DeploymentSpecs = append(next.Spec.InstallStrategy.StrategySpec.DeploymentSpecs, deploymentSpec("last"))
	e.create(next)
	ownedBy := func(version string) {
		becomes(e, "the APIService belongs to "+version, func() string { return a.registered().Labels["olm.owner"] }, version)
	}
	ownedBy("operator.v2")
	e.reaches("operator.v2", operatorsv1alpha1.CSVPhaseInstalling, operatorsv1alpha1.CSVReasonWaiting)
	e.uninstall("operator.v2")
	e.succeeds("operator.v1")
	ownedBy("operator.v1")
	ended(1)
	if after := a.registered(); after.UID != before.UID || string(after.Spec.CABundle) != string(before.Spec.CABundle) {
		t.Errorf("the APIService is not the previous one: %+v", after)
	}
}

func TestRepairOfAnAPIService(t *testing.T) {
	e := newOperatorEnv(t)
	a := runAPI(e)
	for _, o := range e.owned(outside) {
		if o.GetNamespace() == e.namespace {
			continue
		}
		e.must(client(e, o).Delete(e.ctx, o.GetName(), metav1.DeleteOptions{}))
		e.eventually(o.GetKind()+" "+o.GetName()+" exists again", func() (bool, any) {
			return a.registered() != nil && len(delegations(e)) == 2, delegations(e)
		})
	}
	e.succeeds("operator.v1")
	for field, patch := range map[string]string{
		"a lower priority":              `{"spec": {"groupPriorityMinimum": 1}}`,
		"no verification":               `{"spec": {"caBundle": null, "insecureSkipTLSVerify": true}}`,
		"another Service":               `{"spec": {"service": {"name": "another", "port": 80}}}`,
		"an earlier certificate's name": `{"metadata": {"annotations": {"olm-webhook-manager.io/certificate-generation": "7"}}}`,
	} {
		want := a.registered()
		_, err := a.apis.ApiregistrationV1().APIServices().Patch(e.ctx, a.name(), types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: field})
		e.must(err)
		e.eventually("repaired: "+field, func() (bool, any) {
			is := a.registered()
			return is.ResourceVersion != want.ResourceVersion && is.Annotations["olm-webhook-manager.io/certificate-generation"] == "1" && sameSpec(is, want), is.Spec
		})
	}
	a.isAvailable()
}

func TestAPIServiceOfAnotherOwner(t *testing.T) {
	e := newOperatorEnv(t)
	a := playAPI(e)
	theirs := a.other("v1")
	m := e.manage()
	e.create(a.csv("operator.v1"))
	message := e.reaches("operator.v1", operatorsv1alpha1.CSVPhaseFailed, operatorsv1alpha1.CSVReasonOwnerConflict)
	installtest.Prefix(t, "the message", "unable to adopt APIService: ", message)
	c := a.csv("builtin.v1")
	c.Spec.APIServiceDefinitions.Owned[0].Group, c.Spec.APIServiceDefinitions.Owned[0].Version = "apps", "v99"
	e.create(c)
	e.reachesSaying("builtin.v1", operatorsv1alpha1.CSVPhaseFailed, operatorsv1alpha1.CSVReasonOwnerConflict, `group "apps" is not for operators to serve`)
	m.looksAgain("operator.v1")
	if !sameSpec(a.registered(), theirs) || e.deployment("server") != nil {
		t.Error("the APIService was written to, or the operator installed without it")
	}
	e.must(a.apis.ApiregistrationV1().APIServices().Delete(e.ctx, a.name(), metav1.DeleteOptions{}))
	e.eventually("it is the ClusterServiceVersion's", func() (bool, any) {
		is := a.registered()
		return is != nil && is.Labels["olm.owner"] == "operator.v1", is
	})
}

// No write registers a version of a group that the API server itself serves, even if the ClusterServiceVersion
// appears to be installed. An earlier registration is deleted, and the webhooks stay.
func TestReservedGroupIsNeverRegistered(t *testing.T) {
	const reserved = "v99.scheduling.k8s.io"
	own := func(c *operatorsv1alpha1.ClusterServiceVersion) {
		c.Spec.APIServiceDefinitions.Owned = []operatorsv1alpha1.APIServiceDescription{{
			Name: "priorityclasses", Group: "scheduling.k8s.io", Version: "v99", Kind: "PriorityClass", DeploymentName: "server",
		}}
	}
	for name, prepare := range map[string]func(*env){
		"by an edit": func(e *env) {
			e.install(csv("operator.v1", "server"))
			e.edit("operator.v1", own)
		},
		"by a label": func(e *env) {
			c := csv("operator.v1", "server")
			c.Namespace = e.namespace
			own(c)
			service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "anything", Labels: csvspec.OwnerLabels(c)}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 443}}}}
			kube.Create(e, e.kube.CoreV1().Services(e.namespace), service)
			e.create(c)
		},
		"before": func(e *env) {
			e.install(csv("operator.v1", "server"))
			kube.Create(e, playAPI(e).apis.ApiregistrationV1().APIServices(), &apiregistrationv1.APIService{
				ObjectMeta: metav1.ObjectMeta{Name: reserved, Labels: csvspec.OwnerLabels(e.get("operator.v1"))},
				Spec: apiregistrationv1.APIServiceSpec{
					Group: "scheduling.k8s.io", Version: "v99", GroupPriorityMinimum: 1, VersionPriority: 1, InsecureSkipTLSVerify: true,
					Service: &apiregistrationv1.ServiceReference{Namespace: e.namespace, Name: "server-service"},
				},
			})
			e.edit("operator.v1", own)
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t) // one after the other: an APIService is the whole cluster's
			e.group("og", namespaces(e.namespace))
			e.runDeployments()
			m := e.manage()
			a := playAPI(e)
			since := auditEnd(e)
			prepare(e)
			e.reachesSaying("operator.v1", operatorsv1alpha1.CSVPhaseFailed, operatorsv1alpha1.CSVReasonInvalidWebhookDescription, `group "scheduling.k8s.io" is not for operators to serve`)
			e.eventually("the APIService is not registered", func() (bool, any) {
				live, err := a.apis.ApiregistrationV1().APIServices().Get(e.ctx, reserved, metav1.GetOptions{})
				return apierrors.IsNotFound(err), live
			})
			m.looksAgain("operator.v1")
			for _, write := range m.changes(since) {
				if strings.Contains(write, reserved) && !strings.HasPrefix(write, "delete ") {
					t.Errorf("the manager wrote: %s", write)
				}
			}
			if name != "by a label" && len(registered(e)) != 1 {
				t.Errorf("registered are %v, and the webhook was before", registered(e))
			}
		})
	}
}

// Two Namespaces with a Deployment of one name have bindings of two names, though OLM's name
// reports nothing of the Namespace. Webhook servers have none.
func TestDelegationsOfTwoNamespaces(t *testing.T) {
	e := newParallelEnv(t)
	other := *e
	other.namespace = newNamespace(e, "", nil)
	deployment := e.namespace
	for _, in := range []*env{e, &other} {
		in.group("og", namespaces(in.namespace))
		in.runDeployments()
	}
	e.manage(func(o *controller.Options) { o.Namespaces = append(o.Namespaces, other.namespace) })
	for _, in := range []*env{e, &other} {
		c := csv("operator.v1", deployment)
		c.Spec.APIServiceDefinitions.Owned = []operatorsv1alpha1.APIServiceDescription{
			{Group: in.namespace + ".example.com", Version: "v1", Kind: "Pond", Name: "ponds", DeploymentName: deployment, ContainerPort: 6443},
		}
		in.create(c)
		in.eventually("there are bindings", func() (bool, any) { found := delegations(in); return len(found) == 2, found })
		for _, o := range in.owned(outside[1:]) {
			var binding rbacv1.RoleBinding
			in.must(runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &binding))
			if len(binding.Subjects) != 1 || binding.Subjects[0].Namespace != in.namespace {
				t.Errorf("%s %s gives to %v", o.GetKind(), o.GetName(), binding.Subjects)
			}
		}
	}
	expect(t, delegations(e), "kube-system/"+deployment+"-service-auth-reader", deployment+"-service-system:auth-delegator")
	e.uninstall("operator.v1")
	if left, others := delegations(e), delegations(&other); len(left) != 0 || len(others) != 2 {
		t.Errorf("bindings left: %v, of the other Namespace: %v", left, others)
	}
	other.edit("operator.v1", func(c *operatorsv1alpha1.ClusterServiceVersion) { c.Spec.APIServiceDefinitions.Owned = nil })
	becomes(&other, "a server of webhooks alone has no bindings", func() []string { return delegations(&other) }, nil)
	other.succeeds("operator.v1")
}

// Of a group that others serve no further version is registered: clients would ask it in their place.
// When the others no longer exist it is.
func TestGroupThatOthersServe(t *testing.T) {
	for name, test := range map[string]struct {
		begin  func(*playedAPI)
		end    func(*playedAPI)
		reason operatorsv1alpha1.ConditionReason
		says   string
	}{
		"a definition without an owner": {
			begin: func(a *playedAPI) { define(a.env, a.group, "v1alpha1"); a.create(a.csv("operator.v1")) },
			end:   func(a *playedAPI) { undefine(a.env, "ponds", a.group) },
			says:  "CustomResourceDefinition ponds.",
		},
		"an APIService of another namespace": {
			begin: func(a *playedAPI) { a.other("v1alpha1"); a.create(a.csv("operator.v1")) },
			end: func(a *playedAPI) {
				a.must(a.apis.ApiregistrationV1().APIServices().Delete(a.ctx, "v1alpha1."+a.group, metav1.DeleteOptions{}))
			},
			says: "Service default/theirs",
		},
		"an edit": {
			begin: func(a *playedAPI) {
				define(a.env, a.group, "v1alpha1")
				a.install(csv("operator.v1", "server"))
				a.edit("operator.v1", func(c *operatorsv1alpha1.ClusterServiceVersion) { a.ownedBy(c) })
			},
			end:    func(a *playedAPI) { undefine(a.env, "ponds", a.group) },
			reason: operatorsv1alpha1.CSVReasonInvalidWebhookDescription,
			says:   "CustomResourceDefinition ponds.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newOperatorEnv(t)
			a := playAPI(e)
			m := e.manage()
			test.begin(a)
			e.reachesSaying("operator.v1", operatorsv1alpha1.CSVPhaseFailed, cmp.Or(test.reason, operatorsv1alpha1.CSVReasonOwnerConflict), test.says)
			m.looksAgain("operator.v1")
			same(t, "the APIService next to the others", a.registered(), nil)
			test.end(a)
			e.eventually("it is registered", func() (bool, any) { return a.registered() != nil, nil })
		})
	}
}

// An operator may serve one version of its group by its definition and another by an APIService. A
// definition of others that comes later changes nothing.
func TestGroupOfAnOperatorsOwn(t *testing.T) {
	e := newOperatorEnv(t)
	a := playAPI(e)
	m := e.manage()
	define(e, a.group, "v1alpha1")
	c := a.csv("operator.v1")
	c.Spec.CustomResourceDefinitions.Owned = []operatorsv1alpha1.CRDDescription{{Name: "ponds." + a.group, Version: "v1alpha1", Kind: "Pond"}}
	e.create(c)
	a.start()
	e.eventually("it is registered", func() (bool, any) { return a.registered() != nil, nil })
	before := a.registered()
	defineKind(e, "Lake", a.group, "v1alpha1")
	m.looksAgain("operator.v1")
	kube.Patch(e, a.apis.ApiregistrationV1().APIServices(), a.name(), types.MergePatchType, []byte(`{"spec":{"caBundle":null}}`))
	e.eventually("it is repaired", func() (bool, any) {
		is := a.registered()
		return is != nil && is.UID == before.UID && string(is.Spec.CABundle) == string(before.Spec.CABundle), is
	})
}

func (a *playedAPI) other(version string) *apiregistrationv1.APIService {
	a.Helper()
	return kube.Create(a, a.apis.ApiregistrationV1().APIServices(), &apiregistrationv1.APIService{
		ObjectMeta: metav1.ObjectMeta{Name: version + "." + a.group},
		Spec: apiregistrationv1.APIServiceSpec{
			Group: a.group, Version: version, GroupPriorityMinimum: 100, VersionPriority: 100, InsecureSkipTLSVerify: true,
			Service: &apiregistrationv1.ServiceReference{Namespace: "default", Name: "theirs"},
		},
	})
}
