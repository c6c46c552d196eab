package rollout

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/csvstatus"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

const pondAPI = "v1.ponds.example.com"

// owning is a cluster whose operator owns the kind Pond, served by each of some
// Deployments in a version of its own: v1, v2.
func owning(t *testing.T, deployments ...string) *cluster {
	t.Helper()
	c := clusterWith(t)
	for i, d := range deployments {
		c.owns(fmt.Sprintf("v%d", i+1), d)
	}
	return c
}

func (c *cluster) owns(version, deployment string) {
	c.CSV.Spec.APIServiceDefinitions.Owned = append(c.CSV.Spec.APIServiceDefinitions.Owned, operatorsv1alpha1.APIServiceDescription{
		Group: "ponds.example.com", Version: version, Kind: "Pond", DeploymentName: deployment,
	})
	if c.spec(deployment) == nil {
		c.declare(deployment)
	}
	c.Certificates[deployment] = managerv1alpha1.CertificateStatus{Phase: managerv1alpha1.CertificateStable, CAFingerprint: "fingerprint"}
}

// says is what API servers find out of every APIService.
func (c *cluster) says(status apiregistrationv1.ConditionStatus, reason, message string) {
	for _, s := range c.Observed.APIServices {
		s.Status.Conditions = []apiregistrationv1.APIServiceCondition{{
			Type: apiregistrationv1.Available, Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(c.now),
		}}
	}
}

// apisOf says in a line each how the APIServices of a plan stand.
func apisOf(plan Plan) []string {
	var lines []string
	for _, d := range plan.Status.Deployments {
		for _, s := range d.APIServices {
			lines = append(lines, fmt.Sprintf("%s %s %s: %s", s.Name, s.State, s.Reason, s.Message))
		}
	}
	return lines
}

// An APIService is registered when its server serves, and the operator has succeeded when API
// servers pass requests on. From then on its unavailability is said, and changes nothing.
func TestAPIServiceIsRegistered(t *testing.T) {
	c := owning(t, "manager")
	last := func() string { return fmt.Sprint(c.CSV.Status.Phase, ": ", csvstatus.Explained(c.CSV.Status)) }
	expect := func(title, phase string, apis ...string) {
		t.Helper()
		plan := c.pass()
		if diff := cmp.Diff(apis, apisOf(plan)); diff != "" {
			t.Errorf("%s: APIServices (-want +got):\n%s", title, diff)
		}
		if got := last(); got != phase {
			t.Errorf("%s: %s, want %s", title, got, phase)
		}
	}
	expect("at first", "Installing: apiServices not installed: APIService "+pondAPI+": the Deployment is being created",
		pondAPI+" Waiting DeploymentNotAvailable: the Deployment is being created")
	if len(c.Observed.AuthDelegators) != 1 || len(c.Observed.AuthReaders) != 1 {
		t.Fatal("its server may not ask who calls it")
	}
	c.becomeAvailable("manager")
	expect("available", "Installing: apiServices not installed: APIService "+pondAPI+": the registration is being written",
		pondAPI+" Waiting Registering: the registration is being written")
	expect("registered", "Installing: apiServices not installed: APIService "+pondAPI+": the API server has not found out yet whether it answers",
		pondAPI+" Waiting NotAvailable: the API server has not found out yet whether it answers")
	c.says(apiregistrationv1.ConditionFalse, "FailedDiscoveryCheck", "no response")
	c.wait(5 * time.Second)
	expect("not answering", "Installing: apiServices not installed: APIService "+pondAPI+": no response",
		pondAPI+" Waiting FailedDiscoveryCheck: no response")
	c.says(apiregistrationv1.ConditionTrue, "Passed", "")
	kind := schema.GroupVersionKind{Group: "ponds.example.com", Version: "v1", Kind: "Pond"}
	c.Observed.ServedKinds = map[schema.GroupVersionKind]bool{kind: false}
	const unserved = "deployment manager serves the version and not the kind Pond: let it, or correct spec.apiservicedefinitions.owned"
	expect("without the kind", "Installing: apiServices not installed: APIService "+pondAPI+": "+unserved, pondAPI+" Waiting KindNotServed: "+unserved)
	for since, pause := range map[time.Duration]time.Duration{0: 250 * time.Millisecond, time.Hour: 30 * time.Second} {
		c.Observed.Announced = map[schema.GroupVersion]time.Time{kind.GroupVersion(): c.now.Add(-since)}
		if got := c.next().Requeue.At.Sub(c.now); got != pause {
			t.Errorf("%s after it was announced the API server is asked again in %s, want %s", since, got, pause)
		}
	}
	c.Observed.Undiscovered = map[schema.GroupVersion]bool{kind.GroupVersion(): true}
	const unanswered = "the API server has not answered which kinds it serves: see kubectl get --raw /apis/ponds.example.com/v1"
	expect("without an answer", "Installing: apiServices not installed: APIService "+pondAPI+": "+unanswered, pondAPI+" Waiting DiscoveryNotAnswered: "+unanswered)
	c.Observed.ServedKinds[kind], c.Observed.Undiscovered = true, nil
	expect("answering", "Succeeded: install strategy completed with no errors", pondAPI+" Registered Serving: ")

	c.Observed.ServedKinds[kind], c.Observed.Undiscovered = false, map[schema.GroupVersion]bool{kind.GroupVersion(): true}
	expect("a manager that has just started, without an answer", "Succeeded: install strategy completed with no errors", pondAPI+" Registered Serving: ")
	c.Observed.ServedKinds[kind], c.Observed.Undiscovered = true, nil

	c.says(apiregistrationv1.ConditionFalse, "FailedDiscoveryCheck", "no response")
	expect("broken", "Failed: apiServices not installed: APIService "+pondAPI+": no response", pondAPI+" Unreachable FailedDiscoveryCheck: no response")
	if len(c.Observed.APIServices) != 1 {
		t.Error("it is unregistered because it does not answer")
	}
	c.says(apiregistrationv1.ConditionTrue, "Passed", "")
	expect("answering again", "Succeeded: install strategy completed with no errors", pondAPI+" Registered Serving: ")
}

// The next Deployment waits until the APIService of the one before is available.
func TestAPIServicesKeepTheOrder(t *testing.T) {
	c := owning(t, "first", "second")
	for range 3 {
		c.pass()
		c.becomeAvailable("first")
	}
	if c.Observed.Deployments["second"] != nil {
		t.Fatal("the second Deployment is started before the first one's APIService is available")
	}
	c.says(apiregistrationv1.ConditionTrue, "Passed", "")
	c.pass()
	if c.Observed.Deployments["second"] == nil {
		t.Error("the second Deployment is not started")
	}
}

func TestAPIServiceIsRepaired(t *testing.T) {
	for title, test := range map[string]struct {
		damage func(*cluster)
		want   []string
	}{
		"deleted":     {func(c *cluster) { c.Observed.APIServices = nil }, []string{"create APIService " + pondAPI}},
		"a priority":  {func(c *cluster) { c.Observed.APIServices[0].Spec.VersionPriority = 1 }, []string{"apply APIService " + pondAPI + ": spec.versionPriority"}},
		"unverified":  {func(c *cluster) { c.Observed.APIServices[0].Spec.InsecureSkipTLSVerify = true }, []string{"update APIService " + pondAPI + ": spec.insecureSkipTLSVerify"}},
		"a label":     {func(c *cluster) { c.Observed.APIServices[0].Labels["team"] = "ours" }, nil},
		"no binding":  {func(c *cluster) { clear(c.Observed.AuthDelegators) }, []string{"create ClusterRoleBinding manager-service-system:auth-delegator"}},
		"no reading":  {func(c *cluster) { clear(c.Observed.AuthReaders) }, []string{"create RoleBinding kube-system/manager-service-auth-reader"}},
		"for another": {func(c *cluster) { c.Observed.AuthReaders["manager-service-auth-reader"].Subjects[0].Name = "x" }, []string{"apply RoleBinding kube-system/manager-service-auth-reader: subjects"}},
		"not declared": {func(c *cluster) { c.CSV.Spec.APIServiceDefinitions.Owned = nil }, []string{
			"delete APIService " + pondAPI, "delete ClusterRoleBinding manager-service-system:auth-delegator", "delete RoleBinding kube-system/manager-service-auth-reader",
		}},
	} {
		t.Run(title, func(t *testing.T) {
			c := available(t, owning(t, "manager"))
			test.damage(c)
			steps := slices.DeleteFunc(stepsOf(c.pass()), func(s string) bool { return strings.Contains(s, " Deployment ") })
			if diff := cmp.Diff(test.want, steps); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
		})
	}
}

// available is a cluster in which all is well.
func available(t *testing.T, c *cluster) *cluster {
	t.Helper()
	for range 10 {
		c.pass()
		for name := range c.Observed.Deployments {
			c.becomeAvailable(name)
		}
		c.says(apiregistrationv1.ConditionTrue, "Passed", "")
		c.wait(5 * time.Second)
		if c.CSV.Status.Phase == operatorsv1alpha1.CSVPhaseSucceeded {
			return c
		}
	}
	t.Fatalf("the operator is %s: %s", c.CSV.Status.Phase, c.CSV.Status.Message)
	return nil
}

// The trust of an APIService counts before pods are given another certificate.
func TestAPIServiceTrusts(t *testing.T) {
	c := available(t, owning(t, "manager"))
	before := c.Observed.TrustsOf("shop", "manager-service")
	if len(before) != 1 || before[0].Name != "APIService "+pondAPI || string(before[0].CABundle) != "ca" {
		t.Fatalf("trusting: %+v", before)
	}
	c.says(apiregistrationv1.ConditionFalse, "FailedDiscoveryCheck", "no response")
	if again := c.Observed.TrustsOf("shop", "manager-service"); again[0].Version != before[0].Version {
		t.Error("its availability counts as another trust")
	}
	c.Observed.APIServices[0].Spec.CABundle = []byte("another")
	if again := c.Observed.TrustsOf("shop", "manager-service"); again[0].Version == before[0].Version {
		t.Error("another trust does not count")
	}
}

// An upgrade takes it over, in service all the while; one that does not own it any more
// takes it out of service.
func TestAPIServiceIsHandedOver(t *testing.T) {
	for title, test := range map[string]struct {
		deployment string // that serves it in the new version
		left       []string
	}{
		"the same":           {"manager", []string{"shop.v2 manager-service"}},
		"another Deployment": {"other", []string{"shop.v2 other-service"}},
		"not declared by v2": {"", nil},
	} {
		t.Run(title, func(t *testing.T) {
			c := available(t, owning(t, "manager"))
			next := c.replacedBy()
			next.declare("manager")
			if test.deployment != "" {
				next.owns("v1", test.deployment)
			}
			for range 10 {
				next.goesOn("manager")
				if next.Observed.Deployments["other"] != nil {
					next.becomeAvailable("other")
				}
				if test.deployment != "" && len(next.Observed.APIServices) == 0 {
					t.Fatal("it is out of service for a while")
				}
			}
			var left []string
			for _, s := range next.Observed.APIServices {
				left = append(left, s.Labels["olm.owner"]+" "+s.Spec.Service.Name)
			}
			if diff := cmp.Diff(test.left, left); diff != "" {
				t.Errorf("APIServices (-want +got):\n%s", diff)
			}
		})
	}
}

// A ClusterServiceVersion that may not be installed as it is keeps what it has registered.
func TestAPIServiceIsHeld(t *testing.T) {
	c := available(t, owning(t, "manager"))
	c.Verdict.Requirements = []operatorsv1alpha1.RequirementStatus{{Kind: "ServiceAccount", Name: "x", Status: "NotPresent", Message: "does not exist"}}
	plan := c.pass()
	if diff := cmp.Diff([]string{pondAPI + " Registered Held: stays as it was registered: ServiceAccount x: does not exist"}, apisOf(plan)); diff != "" || len(plan.Steps) > 0 {
		t.Errorf("steps %v, APIServices (-want +got):\n%s", stepsOf(plan), diff)
	}
	c.trust.CABundle = []byte("renewed")
	c.Observed.APIServices[0].Spec.VersionPriority = 1
	clear(c.Observed.AuthReaders)
	c.pass()
	if s := c.Observed.APIServices[0].Spec; string(s.CABundle) != "renewed" || s.VersionPriority != 15 || len(c.Observed.AuthReaders) != 1 {
		t.Errorf("it is not looked after: %+v", s)
	}
	c.CSV.Spec.APIServiceDefinitions.Owned[0].ContainerPort = 6443
	c.trust.CABundle = []byte("and again")
	c.pass()
	if s := c.Observed.APIServices[0].Spec; string(s.CABundle) != "and again" || *s.Service.Port != 443 {
		t.Errorf("it is changed while nobody may install what serves it, or not trusted: %+v", s)
	}
}

// One whose certificate is the administrator's is registered for its caBundle to be injected,
// which is kept.
func TestDelegatedAPIService(t *testing.T) {
	c := owning(t, "manager")
	c.trust.Delegated, c.trust.CABundle = true, nil
	for range 3 {
		c.pass()
		c.becomeAvailable("manager")
	}
	if len(c.Observed.APIServices) != 1 || len(c.Observed.APIServices[0].Spec.CABundle) > 0 {
		t.Fatalf("APIServices %+v", c.Observed.APIServices)
	}
	c.Observed.APIServices[0].Spec.CABundle = []byte("injected")
	c.says(apiregistrationv1.ConditionTrue, "Passed", "")
	plan := c.pass()
	if bundle := string(c.Observed.APIServices[0].Spec.CABundle); bundle != "injected" {
		t.Errorf("the caBundle is %q", bundle)
	}
	if diff := cmp.Diff([]string{pondAPI + " Registered Serving: "}, apisOf(plan)); diff != "" {
		t.Errorf("APIServices (-want +got):\n%s", diff)
	}
}

// An operator that must not run gives its APIService up before its Deployments, and then what
// let these ask who calls them.
func TestAPIServiceIsWithdrawn(t *testing.T) {
	c := available(t, owning(t, "manager"))
	c.Verdict.Conflict = "unable to adopt APIService: another has it"
	if diff := cmp.Diff([]string{"delete APIService " + pondAPI}, stepsOf(c.pass())); diff != "" {
		t.Errorf("first (-want +got):\n%s", diff)
	}
	c.wait(5 * time.Second)
	c.pass()
	if len(c.Observed.Deployments)+len(c.Observed.AuthDelegators)+len(c.Observed.AuthReaders) > 0 {
		t.Errorf("left: %v, %v, %v", c.Observed.Deployments, c.Observed.AuthDelegators, c.Observed.AuthReaders)
	}
}

// An APIService of a group that no operator may serve is never written, and is deleted where it is
// registered, whatever else keeps the ClusterServiceVersion from being installed.
func TestReservedGroupIsNeverWritten(t *testing.T) {
	reserved := map[string]bool{"ponds.example.com": true}
	for name, failure := range map[string]*scope.Failure{
		"a mistake":              {Reason: operatorsv1alpha1.CSVReasonInvalidWebhookDescription, Message: "reserved"},
		"no OperatorGroup":       {Reason: operatorsv1alpha1.CSVReasonNoOperatorGroup, Message: "none"},
		"nobody else sees to it": nil,
	} {
		t.Run(name, func(t *testing.T) {
			c := owning(t, "manager")
			c.Failure, c.Observed.ReservedGroups = failure, reserved
			for range 5 {
				c.pass()
				if c.Observed.Deployments["manager"] != nil {
					c.becomeAvailable("manager")
				}
				c.wait(5 * time.Second)
			}
			if len(c.Observed.APIServices) > 0 {
				t.Error("it is registered")
			}

			c = owning(t, "manager")
			for range 3 {
				c.pass()
				c.becomeAvailable("manager")
				c.wait(5 * time.Second)
			}
			if len(c.Observed.APIServices) != 1 {
				t.Fatal("it is not registered before its group is reserved")
			}
			c.Failure, c.Observed.ReservedGroups = failure, reserved
			c.pass()
			c.pass()
			if len(c.Observed.APIServices) > 0 {
				t.Error("it stays registered")
			}
		})
	}
}

// An APIService of a group that others serve is not registered. One that is registered stays, and is
// repaired.
func TestOccupiedGroup(t *testing.T) {
	occupied := map[string]string{"ponds.example.com": "others serve it"}
	c := owning(t, "manager")
	c.Observed.OccupiedGroups = occupied
	for range 5 {
		c.pass()
		if c.Observed.Deployments["manager"] != nil {
			c.becomeAvailable("manager")
		}
		c.wait(5 * time.Second)
	}
	if len(c.Observed.APIServices) > 0 {
		t.Error("it is registered")
	}

	c = available(t, owning(t, "manager"))
	c.Observed.OccupiedGroups = occupied
	bundle := c.Observed.APIServices[0].Spec.CABundle
	c.Observed.APIServices[0].Spec.CABundle = []byte("another")
	c.pass()
	c.pass()
	if len(c.Observed.APIServices) != 1 || string(c.Observed.APIServices[0].Spec.CABundle) != string(bundle) {
		t.Errorf("what is registered is not repaired: %+v", c.Observed.APIServices)
	}
}
