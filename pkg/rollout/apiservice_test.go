package rollout

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/csvstatus"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

const pondAPI = "v1.ponds.example.com"

// clusterWithAPIService returns a cluster whose operator owns the kind Pond. Each Deployment serves a version: v1, v2.
func clusterWithAPIService(t *testing.T, deployments ...string) *cluster {
	t.Helper()
	c := clusterWith(t)
	for i, d := range deployments {
		c.declareAPIService(fmt.Sprintf("v%d", i+1), d)
	}
	return c
}

func (c *cluster) declareAPIService(version, deployment string) {
	c.CSV.Spec.APIServiceDefinitions.Owned = append(c.CSV.Spec.APIServiceDefinitions.Owned, operatorsv1alpha1.APIServiceDescription{
		Group: "ponds.example.com", Version: version, Kind: "Pond", DeploymentName: deployment,
	})
	if c.spec(deployment) == nil {
		c.declare(deployment)
	}
	c.Certificates[deployment] = managerv1alpha1.CertificateStatus{Phase: managerv1alpha1.CertificateStable, CAFingerprint: "fingerprint"}
}

func (c *cluster) setAPIServiceAvailable(status apiregistrationv1.ConditionStatus, reason, message string) {
	for _, s := range c.Observed.APIServices {
		s.Status.Conditions = []apiregistrationv1.APIServiceCondition{{
			Type: apiregistrationv1.Available, Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(c.now),
		}}
	}
}

func apisOf(plan Plan) []string {
	var lines []string
	for _, d := range plan.Status.Deployments {
		for _, s := range d.APIServices {
			lines = append(lines, fmt.Sprintf("%s %s %s: %s", s.Name, s.State, s.Reason, s.Message))
		}
	}
	return lines
}

// An APIService is registered when its server serves. The operator succeeds when API servers
// forward requests. After that, an unavailable APIService is reported and stays registered.
func TestAPIServiceIsRegistered(t *testing.T) {
	c := clusterWithAPIService(t, "manager")
	last := func() string { return fmt.Sprint(c.CSV.Status.Phase, ": ", csvstatus.Explained(c.CSV.Status)) }
	expect := func(title, phase string, apis ...string) {
		t.Helper()
		plan := c.reconcile()
		installtest.Same(t, title+": APIServices", apis, apisOf(plan))
		installtest.Same(t, title, phase, last())
	}
	expect("at first", "Installing: apiServices not installed: APIService "+pondAPI+": the Deployment is being created",
		pondAPI+" Waiting DeploymentNotAvailable: the Deployment is being created")
	installtest.Same(t, "bindings by which its server authenticates clients", []int{1, 1}, []int{len(c.Observed.AuthDelegators), len(c.Observed.AuthReaders)})
	c.becomeAvailable("manager")
	expect("available", "Installing: apiServices not installed: APIService "+pondAPI+": the registration is being written",
		pondAPI+" Waiting Registering: the registration is being written")
	expect("registered", "Installing: apiServices not installed: APIService "+pondAPI+": the API server has not found out yet whether it answers",
		pondAPI+" Waiting NotAvailable: the API server has not found out yet whether it answers")
	c.setAPIServiceAvailable(apiregistrationv1.ConditionFalse, "FailedDiscoveryCheck", "no response")
	c.wait(5 * time.Second)
	expect("not answering", "Installing: apiServices not installed: APIService "+pondAPI+": no response",
		pondAPI+" Waiting FailedDiscoveryCheck: no response")
	c.setAPIServiceAvailable(apiregistrationv1.ConditionTrue, "Passed", "")
	kind := schema.GroupVersionKind{Group: "ponds.example.com", Version: "v1", Kind: "Pond"}
	c.Observed.ServedKinds = map[schema.GroupVersionKind]bool{kind: false}
	const unserved = "deployment manager serves the version and not the kind Pond: let it, or correct spec.apiservicedefinitions.owned"
	expect("without the kind", "Installing: apiServices not installed: APIService "+pondAPI+": "+unserved, pondAPI+" Waiting KindNotServed: "+unserved)
	for since, pause := range map[time.Duration]time.Duration{0: 250 * time.Millisecond, time.Hour: 30 * time.Second} {
		c.Observed.Announced = map[schema.GroupVersion]time.Time{kind.GroupVersion(): c.now.Add(-since)}
		installtest.Same(t, fmt.Sprintf("%s after the registration, pause", since), pause, c.next().Requeue.At.Sub(c.now))
	}
	c.Observed.Undiscovered = map[schema.GroupVersion]bool{kind.GroupVersion(): true}
	const unanswered = "the API server has not answered which kinds it serves: see kubectl get --raw /apis/ponds.example.com/v1"
	expect("without an answer", "Installing: apiServices not installed: APIService "+pondAPI+": "+unanswered, pondAPI+" Waiting DiscoveryNotAnswered: "+unanswered)
	c.Observed.ServedKinds[kind], c.Observed.Undiscovered = true, nil
	expect("answering", "Succeeded: install strategy completed with no errors", pondAPI+" Registered Serving: ")

	c.Observed.ServedKinds[kind], c.Observed.Undiscovered = false, map[schema.GroupVersion]bool{kind.GroupVersion(): true}
	expect("a manager that has just started, without an answer", "Succeeded: install strategy completed with no errors", pondAPI+" Registered Serving: ")
	c.Observed.ServedKinds[kind], c.Observed.Undiscovered = true, nil

	c.setAPIServiceAvailable(apiregistrationv1.ConditionFalse, "FailedDiscoveryCheck", "no response")
	expect("broken", "Failed: apiServices not installed: APIService "+pondAPI+": no response", pondAPI+" Unreachable FailedDiscoveryCheck: no response")
	installtest.Same(t, "the number of APIServices while it does not respond", 1, len(c.Observed.APIServices))
	c.setAPIServiceAvailable(apiregistrationv1.ConditionTrue, "Passed", "")
	expect("answering again", "Succeeded: install strategy completed with no errors", pondAPI+" Registered Serving: ")
}

// The next Deployment waits until the previous APIService is available.
func TestAPIServiceOrder(t *testing.T) {
	c := clusterWithAPIService(t, "first", "second")
	c.reconcileTimes(3)
	installtest.Same(t, "the second Deployment before the first one's APIService is available", nil, c.Observed.Deployments["second"])
	c.setAPIServiceAvailable(apiregistrationv1.ConditionTrue, "Passed", "")
	c.reconcile()
	if c.Observed.Deployments["second"] == nil {
		t.Error("the second Deployment is not started")
	}
}

func TestAPIServiceIsRepaired(t *testing.T) {
	for title, test := range map[string]struct {
		damage func(*cluster)
		want   []string
	}{
		"a priority":      {func(c *cluster) { c.Observed.APIServices[0].Spec.VersionPriority = 1 }, []string{"apply APIService " + pondAPI + ": spec.versionPriority"}},
		"a label":         {func(c *cluster) { c.Observed.APIServices[0].Labels["team"] = "ours" }, nil},
		"another subject": {func(c *cluster) { c.Observed.AuthReaders["manager-service-auth-reader"].Subjects[0].Name = "x" }, []string{"apply RoleBinding kube-system/manager-service-auth-reader: subjects"}},
		"not declared": {func(c *cluster) { c.CSV.Spec.APIServiceDefinitions.Owned = nil }, []string{
			"delete APIService " + pondAPI, "delete ClusterRoleBinding manager-service-system:auth-delegator", "delete RoleBinding kube-system/manager-service-auth-reader",
		}},
	} {
		t.Run(title, func(t *testing.T) {
			c := clusterWithAPIService(t, "manager").succeed()
			test.damage(c)
			steps := slices.DeleteFunc(append(stepsOf(c.reconcile()), stepsOf(c.reconcile())...), func(s string) bool { return strings.Contains(s, " Deployment ") })
			installtest.Same(t, "steps", test.want, steps)
		})
	}
}

// The trust of an APIService counts for the distribution of the next certificate.
func TestAPIServiceTrusts(t *testing.T) {
	c := clusterWithAPIService(t, "manager").succeed()
	before := c.Observed.TrustsOf("shop", "manager-service")
	if len(before) != 1 || before[0].Name != "APIService "+pondAPI || string(before[0].CABundle) != "ca" {
		t.Fatalf("trusting: %+v", before)
	}
	c.setAPIServiceAvailable(apiregistrationv1.ConditionFalse, "FailedDiscoveryCheck", "no response")
	installtest.Same(t, "its version with another availability", before[0].Version, c.Observed.TrustsOf("shop", "manager-service")[0].Version)
	c.Observed.APIServices[0].Spec.CABundle = []byte("another")
	if repeated := c.Observed.TrustsOf("shop", "manager-service"); repeated[0].Version == before[0].Version {
		t.Error("another trust does not count")
	}
}

// An upgrade adopts an APIService without unregistering it. A version that does not own it unregisters it.
func TestAPIServiceUpgrade(t *testing.T) {
	for title, test := range map[string]struct {
		deployment string // in the new version
		left       []string
	}{
		"the same":           {"manager", []string{"shop.v2 manager-service"}},
		"another Deployment": {"other", []string{"shop.v2 other-service"}},
		"not declared by v2": {"", nil},
	} {
		t.Run(title, func(t *testing.T) {
			c := clusterWithAPIService(t, "manager").succeed()
			next := c.upgradeTo()
			next.declare("manager")
			if test.deployment != "" {
				next.declareAPIService("v1", test.deployment)
			}
			for range 10 {
				next.reconcileLater("manager")
				if next.Observed.Deployments["other"] != nil {
					next.becomeAvailable("other")
				}
				if test.deployment != "" && len(next.Observed.APIServices) == 0 {
					t.Fatal("it is unregistered for a while")
				}
			}
			left := lists.Map(next.Observed.APIServices, func(s *apiregistrationv1.APIService) string { return s.Labels["olm.owner"] + " " + s.Spec.Service.Name })
			installtest.Same(t, "APIServices", test.left, left)
		})
	}
}

// A ClusterServiceVersion with an unmet requirement keeps its registrations.
func TestAPIServiceWithUnmetRequirement(t *testing.T) {
	c := clusterWithAPIService(t, "manager").succeed()
	c.Verdict.Requirements = []operatorsv1alpha1.RequirementStatus{{Kind: "ServiceAccount", Name: "x", Status: "NotPresent", Message: "does not exist"}}
	plan := c.reconcile()
	installtest.Same(t, "APIServices", []string{pondAPI + " Registered Held: stays as it was registered: ServiceAccount x: does not exist"}, apisOf(plan))
	installtest.None(t, "steps", plan.Steps)
	c.trust.CABundle = []byte("renewed")
	c.Observed.APIServices[0].Spec.VersionPriority = 1
	clear(c.Observed.AuthReaders)
	c.reconcile()
	if s := c.Observed.APIServices[0].Spec; string(s.CABundle) != "renewed" || s.VersionPriority != 15 || len(c.Observed.AuthReaders) != 1 {
		t.Errorf("it is not repaired: %+v", s)
	}
	c.CSV.Spec.APIServiceDefinitions.Owned[0].ContainerPort = 6443
	c.trust.CABundle = []byte("third")
	c.reconcile()
	if s := c.Observed.APIServices[0].Spec; string(s.CABundle) != "third" || *s.Service.Port != 443 {
		t.Errorf("it is changed while its Deployment cannot be installed, or its caBundle is not updated: %+v", s)
	}
}

// A delegated APIService is registered without a caBundle. The caBundle that is injected then is kept.
func TestDelegatedAPIService(t *testing.T) {
	c := clusterWithAPIService(t, "manager")
	c.trust.Delegated, c.trust.CABundle = true, nil
	c.reconcileTimes(3)
	if len(c.Observed.APIServices) != 1 || len(c.Observed.APIServices[0].Spec.CABundle) > 0 {
		t.Fatalf("APIServices %+v", c.Observed.APIServices)
	}
	c.Observed.APIServices[0].Spec.CABundle = []byte("injected")
	c.setAPIServiceAvailable(apiregistrationv1.ConditionTrue, "Passed", "")
	plan := c.reconcile()
	installtest.Same(t, "the caBundle", "injected", string(c.Observed.APIServices[0].Spec.CABundle))
	installtest.Same(t, "APIServices", []string{pondAPI + " Registered Serving: "}, apisOf(plan))
}

// After an owner conflict, an APIService is unregistered before its Deployments are deleted, and
// the permissions of its server after them.
func TestAPIServiceOwnerConflict(t *testing.T) {
	c := clusterWithAPIService(t, "manager").succeed()
	c.Verdict.Conflict = "unable to adopt APIService: another has it"
	installtest.Same(t, "first", []string{"delete APIService " + pondAPI}, stepsOf(c.reconcile()))
	c.wait(5 * time.Second)
	c.reconcile()
	installtest.Same(t, "the number of objects left", 0, len(c.Observed.Deployments)+len(c.Observed.AuthDelegators)+len(c.Observed.AuthReaders))
}

// An APIService of a reserved group is never written. If registered, it is deleted, also if something blocks the installation.
func TestReservedGroupIsNeverWritten(t *testing.T) {
	reserved := map[string]bool{"ponds.example.com": true}
	for name, failure := range map[string]*scope.Failure{
		"invalid description": {Reason: operatorsv1alpha1.CSVReasonInvalidWebhookDescription, Message: "reserved"},
		"no OperatorGroup":    {Reason: operatorsv1alpha1.CSVReasonNoOperatorGroup, Message: "none"},
		"no other problem":    nil,
	} {
		t.Run(name, func(t *testing.T) {
			c := clusterWithAPIService(t, "manager")
			c.Failure, c.Observed.ReservedGroups = failure, reserved
			c.reconcileTimes(5)
			installtest.Same(t, "the number of APIServices of the reserved group", 0, len(c.Observed.APIServices))

			c = clusterWithAPIService(t, "manager")
			c.reconcileTimes(3)
			installtest.Same(t, "the number of APIServices before the group is reserved", 1, len(c.Observed.APIServices))
			c.Failure, c.Observed.ReservedGroups = failure, reserved
			c.reconcileTimes(2)
			installtest.Same(t, "the number of APIServices after the group is reserved", 0, len(c.Observed.APIServices))
		})
	}
}

// A rotation waits for a registration that is only not deleted, but not for one of a reserved group: it is not written.
func TestWriteRefusal(t *testing.T) {
	c := clusterWithAPIService(t, "manager").succeed()
	api := c.Observed.APIServices[0]
	c.Observed.Refused, c.Observed.DeletionRefused = map[string]string{drift.KeyOf(api): "no"}, map[string]bool{drift.KeyOf(api): true}
	installtest.Same(t, "refusal", "", c.Observed.WriteRefusal(api))
	c.Observed.ReservedGroups = map[string]bool{api.Spec.Group: true}
	installtest.Same(t, "refusal in a reserved group", "no", c.Observed.WriteRefusal(api))
}

// An APIService of a group that other servers serve is not registered. One that is registered stays and is repaired.
func TestOccupiedGroup(t *testing.T) {
	occupied := map[string]string{"ponds.example.com": "another server serves it"}
	c := clusterWithAPIService(t, "manager")
	c.Observed.OccupiedGroups = occupied
	c.reconcileTimes(5)
	installtest.Same(t, "the number of APIServices of the occupied group", 0, len(c.Observed.APIServices))

	c = clusterWithAPIService(t, "manager").succeed()
	c.Observed.OccupiedGroups = occupied
	bundle := c.Observed.APIServices[0].Spec.CABundle
	c.Observed.APIServices[0].Spec.CABundle = []byte("another")
	c.reconcile()
	c.reconcile()
	if len(c.Observed.APIServices) != 1 || string(c.Observed.APIServices[0].Spec.CABundle) != string(bundle) {
		t.Errorf("the registration is not repaired: %+v", c.Observed.APIServices)
	}
}
