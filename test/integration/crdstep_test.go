package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/heldversions"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/clients"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmoperator"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmoperator/crdpolicy"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmoperator/crdversions"
)

// manageCRDs runs a manager with what --with-olm adds for definitions. The test must not run in parallel with others:
// the policy is for all of them.
func manageCRDs(e *env, change ...func(*controller.Options)) *manager {
	e.Helper()
	noCRDPolicy(e)
	m := manageWith(e, cluster.Config(), keepingVersions, append(change, func(o *controller.Options) { o.Namespaces = nil })...)
	crdPolicyIsActive(e, true)
	return m
}

func keepingVersions(set clients.Set, caches *informers.Caches, events record.EventRecorder) olmoperator.Controllers {
	return olmoperator.Controllers{
		installtest.OrPanic(crdversions.New(set.Extensions, caches, events, logger())),
		crdpolicy.New(set.Kube, caches.ClusterRoles, logger()),
	}
}

// bundleForms are the forms in which bundles have a definition: without a conversion, with one whose Service does not
// exist and without a CA, and with another description.
func bundleForms(e *env, plural string, versions ...string) []*apiextensionsv1.CustomResourceDefinition {
	plain, webhook, described := valued(e, plural, versions...), valued(e, plural, versions...), valued(e, plural, versions...)
	webhook.Spec.Conversion = byService("webhook-service", nil)
	described.Spec.Versions[0].Schema.OpenAPIV3Schema.Description = "another one"
	return []*apiextensionsv1.CustomResourceDefinition{plain, webhook, described}
}

// The steps of InstallPlans replace a definition, 20 times a second. No read in any version fails, or returns an object
// that was only relabelled.
func TestCRDStepUnderLoad(t *testing.T) {
	e := operating(newEnv(t), allNamespaces)
	pod := playConverter(e, "v1", "v2")
	crd := newValued(e, "gauges", "v1", "v2")
	m := manageCRDs(e)
	e.create(pod.csv("operator.v1", "example.com/server:1", crd.Name, "v1", "v2"))
	pod.begins()
	e.succeeds("operator.v1")
	newValue(e, crd, "v2", "seven")
	m.settles("operator.v1")

	since := auditEnd(e)
	load := startReaders(e, crd, "seven", "v1", "v2")
	load.goOn("v1", "v2")
	tick := time.NewTicker(time.Second / 20)
	defer tick.Stop()
	forms := bundleForms(e, "gauges", "v1", "v2")
	for i := range 200 {
		<-tick.C
		writeAsCatalog(e, e.namespace+"/operator.v1", forms[i%len(forms)])
	}
	load.goOn("v1", "v2")
	load.end()
	m.looksAgain("operator.v1")
	same(t, "the gap", webhookStatus(e, "operator.v1", "v.example.com").LastGap, nil)
	if writes := m.writes(since); slices.ContainsFunc(writes, func(w string) bool { return strings.Contains(w, "customresourcedefinitions") }) {
		t.Errorf("the manager repaired the definition: %q", writes)
	}
}

// Without the policy, the manager repairs the conversion, and reports the gap.
func TestCRDStepWithoutThePolicy(t *testing.T) {
	for i, name := range []string{"without a conversion", "with the webhook of the bundle"} {
		t.Run(name, func(t *testing.T) {
			e := operating(newParallelEnv(t), allNamespaces)
			pod := playConverter(e, "v1", "v2")
			crd := newValued(e, "meters", "v1", "v2")
			m := e.manage()
			e.create(pod.csv("operator.v1", "example.com/server:1", crd.Name, "v1", "v2"))
			pod.begins()
			e.succeeds("operator.v1")
			newValue(e, crd, "v2", "seven")
			before := conversion(e, crd.Name)
			writeAsCatalog(e, e.namespace+"/operator.v1", bundleForms(e, "meters", "v1", "v2")[i])
			becomes(e, "the conversion is repaired", func() *apiextensionsv1.CustomResourceConversion { return conversion(e, crd.Name) }, before)
			m.emits("Warning ConversionInterrupted " + crd.Name)
			load := startReaders(e, crd, "seven", "v1", "v2")
			load.goOn("v1", "v2")
			load.end()
		})
	}
}

// stepping is an operator that a catalog upgrades. Its InstallPlan creates the ClusterServiceVersion first, and then
// replaces the definition, as catalog-operator orders the steps.
type stepping struct {
	*env
	crd  *apiextensionsv1.CustomResourceDefinition
	pod  *converterPod
	m    *manager
	load *readers
}

// newStepping has operator.v1, which converts its versions if there are several. Its Deployment becomes available when a
// test makes it available.
func newStepping(t *testing.T, versions ...string) *stepping {
	t.Helper()
	return newSteppingWith(t, func(*controller.Options) {}, versions...)
}

func newSteppingWith(t *testing.T, change func(*controller.Options), versions ...string) *stepping {
	t.Helper()
	e := newEnv(t)
	e.group("og", allNamespaces)
	s := &stepping{env: e, pod: playConverter(e, versions...)}
	s.crd = newValued(e, "levels", versions...)
	s.m = manageCRDs(e, change)
	first := s.pod.csv("operator.v1", "example.com/server:1", s.crd.Name, versions...)
	if len(versions) == 1 {
		first.Spec.WebhookDefinitions = []operatorsv1alpha1.WebhookDescription{webhook("v.example.com", "server")}
	}
	e.create(first)
	s.pod.begins()
	rolledOut(e, "server", "operator.v1", true)
	e.succeeds("operator.v1")
	newValue(e, s.crd, versions[len(versions)-1], "seven")
	s.load = startReaders(e, s.crd, "seven", versions...)
	s.load.goOn(versions...)
	return s
}

// plan executes the steps of an InstallPlan for operator.v2.
func (s *stepping) plan(next *operatorsv1alpha1.ClusterServiceVersion, versions ...string) {
	s.Helper()
	s.create(replacing("operator.v1", next))
	manifest := valued(s.env, "levels", versions...)
	manifest.Spec.Conversion = byService("webhook-service", []byte("\n"))
	writeAsCatalog(s.env, s.namespace+"/operator.v2", manifest)
}

// rollOut replaces the pods by pods that support other versions.
func (s *stepping) rollOut(versions ...string) {
	s.Helper()
	has(s.env, "server", "operator.v2")
	s.pod.upgrade(versions...)
	s.pod.replaces("operator.v2")
	setAvailable(s.env, "server", true)
}

func (s *stepping) serves(version string) bool {
	for _, v := range s.env.crd(s.crd.Name).Spec.Versions {
		if v.Name == version {
			return v.Served
		}
	}
	return false
}

// completes waits until the new version is read without a failure, and objects are stored in it.
func (s *stepping) completes(version string) {
	s.Helper()
	s.eventually("the version is served", func() (bool, any) { return s.serves(version), s.get("operator.v2").Status.Message })
	s.eventually("the API server answers requests in it", func() (bool, any) {
		_, err := inVersion(s.env, s.crd, version).Get(s.ctx, "one", metav1.GetOptions{})
		return err == nil, err
	})
	s.load.also(version)
	s.succeeds("operator.v2")
	s.eventually("objects are stored in it, and nothing is held", func() (bool, any) {
		crd := s.env.crd(s.crd.Name)
		return crd.Spec.Versions[len(crd.Spec.Versions)-1].Storage && !heldversions.Annotated(crd), crd.Annotations
	})
	s.load.goOn(version)
	s.load.end()
	same(s, "the conversion strategy", conversion(s.env, s.crd.Name).Strategy, apiextensionsv1.WebhookConverter)
}

// A version that the live converter does not support is served when the converter of the new operator is live.
func TestCatalogUpgradeAddsAVersion(t *testing.T) {
	for name, owned := range map[string][]string{"which the operator lists": {"v1", "v2", "v3"}, "which the operator does not list": {"v2"}} {
		t.Run(name, func(t *testing.T) {
			s := newStepping(t, "v1", "v2")
			s.plan(s.pod.csv("operator.v2", "example.com/server:2", s.crd.Name, owned...), "v1", "v2", "v3")
			has(s.env, "server", "operator.v2")
			s.m.looksAgain("operator.v2")
			writeAsCatalog(s.env, s.namespace+"/operator.v2", valued(s.env, "levels", "v1", "v2", "v3")) // the step is repeated
			s.m.looksAgain("operator.v2")
			s.load.goOn("v1", "v2")
			if s.serves("v3") {
				t.Error("the version is served before its converter is live")
			}
			s.rollOut("v1", "v2", "v3")
			s.completes("v3")
			s.m.emits("Normal VersionServed CustomResourceDefinition " + s.crd.Name + " serves v3: the conversion webhook serves")
		})
	}
}

// The first conversion of a definition: until its webhook is live, nothing changes for the objects that exist.
func TestCatalogUpgradeBringsTheFirstConversion(t *testing.T) {
	s := newStepping(t, "v1")
	s.plan(s.pod.csv("operator.v2", "example.com/server:2", s.crd.Name, "v1", "v2"), "v1", "v2")
	has(s.env, "server", "operator.v2")
	s.m.looksAgain("operator.v2")
	s.load.goOn("v1")
	same(t, "the conversion strategy", conversion(s.env, s.crd.Name).Strategy, apiextensionsv1.NoneConverter)
	s.rollOut("v1", "v2")
	s.completes("v2")
}

// An operator without a conversion webhook gets what its bundle has as soon as its ClusterServiceVersion exists.
func TestCatalogUpgradeWithoutAConverter(t *testing.T) {
	s := newStepping(t, "v1")
	next := s.pod.csv("operator.v2", "example.com/server:2", s.crd.Name, "v1", "v2")
	next.Spec.WebhookDefinitions = []operatorsv1alpha1.WebhookDescription{webhook("v.example.com", "server")}
	s.plan(next, "v1", "v2")
	becomes(s.env, "the definition is as in the bundle", func() string {
		d := (&policed{env: s.env, crd: s.crd}).now()
		return fmt.Sprintf("converted by %s (%s), serves %v, stores %s, %d annotations", d.strategy, d.service, d.served, d.storage, len(d.annotations))
	}, "converted by Webhook (webhook-service, without a CA), serves [v1 v2], stores v2, 1 annotations")
}

// An InstallPlan that fails after the step of the definition changes nothing for its objects.
func TestCatalogUpgradeThatFails(t *testing.T) {
	s := newStepping(t, "v1", "v2")
	writeAsCatalog(s.env, s.namespace+"/operator.v2", valued(s.env, "levels", "v1", "v2", "v3"))
	s.m.looksAgain("operator.v1")
	s.eventually("the WebhookRollout reports it", func() (bool, any) {
		condition := meta.FindStatusCondition(s.rollout("operator.v1").Conditions, managerv1alpha1.ConditionVersionsHeld)
		return condition != nil && strings.Contains(condition.Message, "added it for ClusterServiceVersion "+s.namespace+"/operator.v2"), condition
	})
	writeAsCatalog(s.env, s.namespace+"/operator.v3", valued(s.env, "levels", "v1", "v2")) // fails forward
	s.eventually("nothing is held", func() (bool, any) {
		crd := s.env.crd(s.crd.Name)
		return !heldversions.Annotated(crd), crd.Annotations
	})
	s.load.goOn("v1", "v2")
	s.load.end()
}
