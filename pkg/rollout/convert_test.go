package rollout

import (
	"maps"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/conversion"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// convertedCRD returns a definition that a Service in "operators" converts. A version with a leading "-" is not served.
func convertedCRD(service string, stored []string, versions ...string) *apiextensionsv1.CustomResourceDefinition {
	crd := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "things.example.com", UID: "u", ResourceVersion: "7"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{Conversion: &apiextensionsv1.CustomResourceConversion{
			Strategy: apiextensionsv1.WebhookConverter,
			Webhook: &apiextensionsv1.WebhookConversion{ClientConfig: &apiextensionsv1.WebhookClientConfig{
				Service: &apiextensionsv1.ServiceReference{Namespace: "operators", Name: service}, CABundle: []byte("theirs"),
			}},
		}},
		Status: apiextensionsv1.CustomResourceDefinitionStatus{StoredVersions: stored},
	}
	for _, v := range versions {
		name, hidden := strings.CutPrefix(v, "-")
		crd.Spec.Versions = append(crd.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{Name: name, Served: !hidden, Storage: v == versions[len(versions)-1]})
	}
	return crd
}

func TestEndConversions(t *testing.T) {
	const ends, asks, blocked, unchanged = "ends", "needs the object count", "is blocked", "is not changed"
	recorded, migrated := convertedCRD("server-service", []string{"v2"}, "-v1", "v2"), convertedCRD("server-service", []string{"v2"}, "-v1", "v2")
	recorded.Annotations = map[string]string{wellknown.AnnotationStoredVersions: "v1,v2"}
	migrated.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{{Type: apiextensionsv1.StorageMigrating, Status: apiextensionsv1.ConditionFalse}}
	removed := convertedCRD("server-service", []string{"v2"}, "v2")
	removed.Status.Conditions = migrated.Status.Conditions
	tests := map[string]struct {
		crd     *apiextensionsv1.CustomResourceDefinition
		objects string // "", "none", "some"
		force   bool
		want    string
	}{
		"the only one stored, and a migration is incomplete": {recorded, "some", false, blocked},
		"the only one stored, after a migration of others":   {migrated, "some", false, blocked},
		"another was removed after a migration of others":    {removed, "some", false, blocked},
		"two versions, not counted yet":                      {convertedCRD("server-service", []string{"v2"}, "v1", "v2"), "", false, asks},
		"two versions, no objects":                           {convertedCRD("server-service", []string{"v1", "v2"}, "v1", "v2"), "none", false, ends},
		"two versions, objects":                              {convertedCRD("server-service", []string{"v2"}, "v1", "v2"), "some", false, blocked},
		"one version served and the only one stored":         {convertedCRD("server-service", []string{"v2"}, "-v1", "v2"), "", false, ends},
		"one version served, another was stored before":      {convertedCRD("server-service", []string{"v1", "v2"}, "-v1", "v2"), "some", false, blocked},
		"one version served, another one stored":             {convertedCRD("server-service", []string{"v1"}, "-v1", "v2"), "some", false, blocked},
		"objects, forced":                                    {convertedCRD("server-service", []string{"v2"}, "v1", "v2"), "some", true, ends},
		"another owner's":                                    {convertedCRD("other", []string{"v2"}, "v1", "v2"), "none", false, unchanged},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			objects := map[string]int{}
			if test.objects != "" {
				objects[test.crd.Name] = map[string]int{"some": conversion.SomeObjects}[test.objects]
			}
			end := conversion.EndAll("operators", func(service string) bool { return service == "server-service" }, []*apiextensionsv1.CustomResourceDefinition{test.crd}, objects, test.force)
			got := unchanged
			switch {
			case len(end.CRDs) == 1:
				got = ends
				conversion := EndConversionSteps(end.CRDs)[0].Object.(*apiextensionsv1.CustomResourceDefinition)
				if conversion.Spec.Conversion.Strategy != apiextensionsv1.NoneConverter || conversion.UID != "u" || conversion.ResourceVersion != "7" {
					t.Errorf("the write is %+v", conversion)
				}
			case len(end.Count) == 1:
				got = asks
			case end.InUse != "":
				got = blocked
			}
			installtest.Same(t, "the conversion", test.want, got)
		})
	}
}

func inUse(crd *apiextensionsv1.CustomResourceDefinition, objects int) string {
	end := conversion.EndAll("operators", func(service string) bool { return service == "server-service" }, []*apiextensionsv1.CustomResourceDefinition{crd}, map[string]int{crd.Name: objects}, false)
	_, message, _ := strings.Cut(end.InUse, "ClusterServiceVersion. ")
	return message
}

// The message of a conversion in use has the commands that make it unused.
func TestConversionInUse(t *testing.T) {
	for name, test := range map[string]struct {
		stored, versions []string
		recorded         string
		want             string
	}{
		"one version stored, and a migration is incomplete": {[]string{"v2"}, []string{"-v1", "v2"}, "v1,v2",
			"things.example.com has 7 objects, which may be stored in v1 or v2, and serves v2: run `kubectl webhooks storage migrate things.example.com --to v2`"},
		"two versions stored": {[]string{"v1", "v2"}, []string{"v1", "v2"}, "",
			"things.example.com has 7 objects, which may be stored in v1 or v2, and serves v1, v2: run `kubectl webhooks storage migrate things.example.com --to v2`, then set served: false in it for v1"},
		"two versions served": {[]string{"v2"}, []string{"v1", "v2"}, "",
			"things.example.com has 7 objects, stored in v2, and serves v1, v2: set served: false in it for v1"},
		"one version served, two stored": {[]string{"v1", "v2"}, []string{"-v1", "v2"}, "",
			"things.example.com has 7 objects, which may be stored in v1 or v2, and serves v2: run `kubectl webhooks storage migrate things.example.com --to v2`"},
		"what is stored is not served": {[]string{"v2"}, []string{"v1", "-v2"}, "",
			"things.example.com has 7 objects, stored in v2, and serves v1: run `kubectl webhooks storage migrate things.example.com --to v1`"},
	} {
		t.Run(name, func(t *testing.T) {
			crd := convertedCRD("server-service", test.stored, test.versions...)
			crd.Annotations = map[string]string{wellknown.AnnotationStoredVersions: test.recorded}
			installtest.Same(t, "the message", test.want, inUse(crd, 7))
		})
	}
}

// After a StorageVersionMigration of another client, v1 was removed from spec.versions.
func TestRemovedVersionInUse(t *testing.T) {
	crd := convertedCRD("server-service", []string{"v2"}, "v2")
	crd.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{{Type: apiextensionsv1.StorageMigrating, Status: apiextensionsv1.ConditionFalse}}
	installtest.Same(t, "the message", "things.example.com has 7 objects, which may be stored in v2 or a removed version, and serves v2: run `kubectl webhooks storage migrate things.example.com --to v2`", inUse(crd, 7))
}

// If objects cannot be counted, the message assumes that there are some.
func TestUnknownObjectCount(t *testing.T) {
	for objects, want := range map[int]string{conversion.SomeObjects: "things.example.com has objects, stored in v2, ", 1: "things.example.com has 1 object, stored in v2, "} {
		installtest.Prefix(t, "objects", want, inUse(convertedCRD("server-service", []string{"v2"}, "v1", "v2"), objects))
	}
}

// A conversion is never changed to an older generation: another manager with newer facts wrote the
// newer one. The recorded generation counts only if the manager alone wrote it and it is possible. A
// conversion records each generation that it trusts, even if the CA is the same: a late write of a
// manager with older facts then fails.
func TestConversionComparesGenerations(t *testing.T) {
	const recorded, manager = "olm-webhook-manager.io/certificate-generation", "olm-webhook-manager"
	type writers []string
	for name, test := range map[string]struct {
		generation  string
		writers     writers
		other, same int // writes of another caBundle and of the same one
	}{
		"none":                             {"", nil, 1, 1},
		"no number":                        {"what", writers{manager}, 1, 1},
		"earlier":                          {"1", writers{manager}, 1, 1},
		"equal":                            {"2", writers{manager}, 1, 0},
		"equal, by another client":         {"2", writers{"velero"}, 1, 0},
		"equal, another client applied it": {"2", writers{manager, "argocd"}, 1, 0},
		"later":                            {"3", writers{manager}, 0, 0},
		"later, by another client":         {"3", writers{"velero"}, 1, 1},
		"highest":                          {"4294967295", writers{manager}, 1, 1},
		"impossible":                       {"4294967296", writers{manager}, 1, 1},
		"impossible, by another client":    {"4294967296", writers{"velero"}, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			live := convertedCRD("server-service", nil, "v1")
			live.Annotations = map[string]string{recorded: test.generation}
			for _, writer := range test.writers {
				live.ManagedFields = append(live.ManagedFields, wrote(writer, `{"f:metadata":{"f:annotations":{"f:`+recorded+`":{}}}}`))
			}
			drift.TrimDefinition(live) // as caches do
			for bundle, written := range map[string]int{"mine": test.other, "theirs": test.same} {
				desired := render.Conversion{CRD: live.Name, Generation: 2, Spec: *live.Spec.Conversion.DeepCopy()}
				desired.Spec.Webhook.ClientConfig.CABundle = []byte(bundle)
				p := newPlanner(Input{Observed: Observed{CRDs: map[string]*apiextensionsv1.CustomResourceDefinition{live.Name: live}}}, noon)
				p.plan.ensureConversions([]render.Conversion{desired})
				installtest.Same(t, "writes with the caBundle "+bundle, written, len(p.plan.Steps))
				for _, step := range p.plan.Steps {
					installtest.Same(t, "its recorded generation", "2", step.Object.GetAnnotations()[recorded])
				}
			}
		})
	}
}

// A definition calls a Service if it names its namespace and its name, and trusts it.
func TestDefinitionNamesItsService(t *testing.T) {
	type config = apiextensionsv1.WebhookClientConfig
	for name, test := range map[string]struct {
		change               func(*config)
		calls, alike, caller bool
	}{
		"the Service":       {func(*config) {}, true, true, true},
		"another caBundle":  {func(c *config) { c.CABundle = []byte("other") }, true, true, true},
		"no caBundle":       {func(c *config) { c.CABundle = nil }, false, true, false},
		"another port":      {func(c *config) { c.Service.Port = new(int32(8443)) }, true, false, true},
		"another name":      {func(c *config) { c.Service.Name = "other" }, false, false, false},
		"another namespace": {func(c *config) { c.Service.Namespace = "shop" }, false, false, false},
	} {
		live := convertedCRD("server-service", nil, "v1")
		desired := render.Conversion{CRD: live.Name, Spec: *live.Spec.Conversion.DeepCopy()}
		test.change(live.Spec.Conversion.Webhook.ClientConfig)
		installtest.Same(t, name+": calls", test.calls, conversion.Calls(live, desired))
		installtest.Same(t, name+": calls alike", test.alike, conversion.CallsAlike(live, desired))
		k := &ports{facts: &facts{Input: Input{Observed: Observed{CRDs: map[string]*apiextensionsv1.CustomResourceDefinition{live.Name: live}}}}}
		d := render.Deployment{Service: &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "operators", Name: "server-service"}}}
		installtest.Same(t, name+": is a caller of the Service", test.caller, len(k.callersOf(d)) == 1)
	}
}

// A conversion that the API server refuses blocks its webhook.
func TestRefusedConversion(t *testing.T) {
	c := candidate{
		registrar: &registrar{facts: &facts{Input: Input{Observed: Observed{Refused: map[string]string{crdKey("things.example.com"): "denied"}}}}},
		webhook:   render.Webhook{Conversions: []render.Conversion{{CRD: "others.example.com"}, {CRD: "things.example.com"}}},
	}
	c.webhook.Description.Type = "ConversionWebhook"
	if reason, message, blocked := c.accepted(); !blocked || reason != managerv1alpha1.ReasonRefusedByAPIServer || message != "denied" {
		t.Errorf("blocked %t: %s, %s", blocked, reason, message)
	}
	c.webhook.Conversions = c.webhook.Conversions[:1]
	_, _, blocked := c.accepted()
	installtest.Same(t, "it is blocked by another definition's refusal", false, blocked)
}

// Annotations that a definition already has are not changed and not recorded as configured.
// Otherwise they would be removed with the configuration.
func TestAnnotationsOfDefinitions(t *testing.T) {
	const names, team, site = "olm-webhook-manager.io/propagated-annotations", "example.com/team", "example.com/site"
	for name, test := range map[string]struct {
		live, config, want map[string]string // no want: nothing is written
	}{
		"none":                          {nil, nil, nil},
		"added":                         {map[string]string{site: "own"}, map[string]string{team: "red"}, map[string]string{team: "red", names: team}},
		"unchanged":                     {map[string]string{team: "red", names: team}, map[string]string{team: "red"}, nil},
		"changed value":                 {map[string]string{team: "red", names: team}, map[string]string{team: "blue"}, map[string]string{team: "blue", names: team}},
		"existing":                      {map[string]string{team: "own"}, map[string]string{team: "red"}, nil},
		"existing, with the same value": {map[string]string{team: "red"}, map[string]string{team: "red"}, nil},
		"existing, and another one":     {map[string]string{team: "own"}, map[string]string{team: "red", site: "a"}, map[string]string{site: "a", names: site}},
		"removed by another client":     {map[string]string{names: team}, map[string]string{team: "red"}, map[string]string{team: "red", names: team}},
		"not configured any more":       {map[string]string{team: "red", names: team}, nil, map[string]string{}},
		"one of two is configured":      {map[string]string{team: "red", site: "a", names: site + "," + team}, map[string]string{site: "a"}, map[string]string{site: "a", names: site}},
	} {
		t.Run(name, func(t *testing.T) {
			live := convertedCRD("server-service", nil)
			live.Annotations = test.live
			before := maps.Clone(test.live)
			p := newPlanner(Input{Observed: Observed{CRDs: map[string]*apiextensionsv1.CustomResourceDefinition{live.Name: live}}}, noon)
			p.plan.ensureConversions([]render.Conversion{{CRD: live.Name, Annotations: test.config, Spec: *live.Spec.Conversion.DeepCopy()}})
			var got map[string]string
			for _, step := range p.plan.Steps {
				got = maps.Clone(step.Object.GetAnnotations())
				delete(got, "olm-webhook-manager.io/certificate-generation")
			}
			installtest.Same(t, "written annotations", test.want, got)
			installtest.Same(t, "the observed object is changed", before, live.Annotations)
		})
	}
}
