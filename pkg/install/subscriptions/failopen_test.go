package subscriptions

import (
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// shopWithWebhooks has v, m, the conversion c, and i with failurePolicy Ignore.
func shopWithWebhooks() *operatorsv1alpha1.ClusterServiceVersion {
	named := func(kind operatorsv1alpha1.WebhookAdmissionType, name string, policy *admissionregistrationv1.FailurePolicyType) operatorsv1alpha1.WebhookDescription {
		return installtest.ServedBy("manager", func(d *operatorsv1alpha1.WebhookDescription) {
			d.Type, d.GenerateName, d.FailurePolicy = kind, name, policy
		})
	}
	return installtest.Operator(installtest.Deployments(installtest.DeploymentOf("manager")),
		named(operatorsv1alpha1.ValidatingAdmissionWebhook, "v.example.com", new(admissionregistrationv1.Fail)),
		named(operatorsv1alpha1.MutatingAdmissionWebhook, "m.example.com", nil),
		named(operatorsv1alpha1.ConversionWebhook, "c.example.com", nil),
		named(operatorsv1alpha1.ValidatingAdmissionWebhook, "i.example.com", new(admissionregistrationv1.Ignore)))
}

// settingsOf returns annotations from pairs of a name without its prefix and a value.
func settingsOf(pairs ...string) map[string]string {
	all := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		all[wellknown.AnnotationPrefix+pairs[i]] = pairs[i+1]
	}
	return all
}

func opening(csv *operatorsv1alpha1.ClusterServiceVersion, c Config) string {
	var names []string
	for _, d := range csv.Spec.WebhookDefinitions {
		if _, may := c.FailOpen(csv).ByWebhook[csvspec.IdentityOf(d)]; may {
			names = append(names, d.GenerateName[:1])
		}
	}
	return strings.Join(names, " ")
}

func TestFailOpen(t *testing.T) {
	const after = "fail-open-after"
	for name, test := range map[string]struct {
		config, author []string
		opens          string
		refusal        string
	}{
		"no annotation":                {},
		"the default":                  {config: []string{after, "5m"}, opens: "v m"},
		"the shortest time":            {config: []string{after, "30s"}, opens: "v m"},
		"too short":                    {config: []string{after, "29s"}, refusal: "which is too short: set at least 30s"},
		"negative":                     {config: []string{after, "-1h"}, refusal: "too short"},
		"no unit":                      {config: []string{after, "300"}, refusal: "which is no duration"},
		"empty":                        {config: []string{after, ""}, refusal: "which is no duration"},
		"too long for an integer":      {config: []string{after, "99999999999h"}, refusal: "which is no duration"},
		"only for all":                 {config: []string{"fail-open-all-after", "5m"}, refusal: "fail-open-after is missing"},
		"all earlier":                  {config: []string{after, "5m", "fail-open-all-after", "1m"}, refusal: "set at least 5m"},
		"all":                          {config: []string{after, "5m", "fail-open-all-after", "5m"}, opens: "v m"},
		"for too short":                {config: []string{after, "5m", "fail-open-for", "59s"}, refusal: "too short"},
		"for too long":                 {config: []string{after, "5m", "fail-open-for", "24h1s"}, refusal: "too long"},
		"for zero":                     {config: []string{after, "5m", "fail-open-for", "0"}, refusal: "too short"},
		"misspelt":                     {config: []string{after, "5m", "fail-open-webhook", "v.example.com"}, refusal: "is not known"},
		"misspelt alone":               {config: []string{"fail-open", "5m"}, refusal: "is not known"},
		"named":                        {config: []string{after, "5m", "fail-open-webhooks", " v.example.com "}, opens: "v"},
		"named for a resource":         {config: []string{after, "5m", "fail-open-webhooks", "m.example.com/pods,m.example.com/deployments.apps"}, opens: "m"},
		"named none":                   {config: []string{after, "5m", "fail-open-webhooks", ""}, refusal: "is no webhook that could open"},
		"named with a trailing comma":  {config: []string{after, "5m", "fail-open-webhooks", "v.example.com,"}, refusal: "is no webhook that could open"},
		"a conversion":                 {config: []string{after, "5m", "fail-open-webhooks", "v.example.com,c.example.com"}, refusal: `"c.example.com", which is no webhook`},
		"all by an asterisk":           {config: []string{after, "5m", "fail-open-webhooks", "*"}, refusal: "is no webhook that could open"},
		"all resources":                {config: []string{after, "5m", "fail-open-webhooks", "v.example.com/*"}, refusal: "is no resource"},
		"a subresource":                {config: []string{after, "5m", "fail-open-webhooks", "v.example.com/pods/exec"}, refusal: "is no resource"},
		"an expression":                {config: []string{after, "5m", "fail-open-webhooks", `v.example.com/pods" || true || "`}, refusal: "is no resource"},
		"an expression as group":       {config: []string{after, "5m", "fail-open-webhooks", `v.example.com/pods.a" || true`}, refusal: "is no API group"},
		"an empty group":               {config: []string{after, "5m", "fail-open-webhooks", "v.example.com/pods."}, refusal: "is no API group"},
		"ignored anyway":               {config: []string{after, "5m", "fail-open-webhooks", "i.example.com"}},
		"critical":                     {config: []string{after, "5m"}, author: []string{"security-critical", "v.example.com"}, opens: "m"},
		"all critical":                 {config: []string{after, "5m"}, author: []string{"security-critical", "*"}},
		"critical and named":           {config: []string{after, "5m", "fail-open-webhooks", "v.example.com,m.example.com"}, author: []string{"security-critical", "v.example.com"}, opens: "m", refusal: "declares security-critical"},
		"critical, overridden":         {config: []string{after, "5m", "fail-open-security-critical", "true"}, author: []string{"security-critical", "*"}, opens: "v m"},
		"overridden, unclear":          {config: []string{after, "5m", "fail-open-security-critical", "yes"}, author: []string{"security-critical", "*"}, refusal: `set it to "true", or remove it`},
		"not overridden":               {config: []string{after, "5m", "fail-open-security-critical", "false"}, author: []string{"security-critical", "*"}},
		"critical, misspelt":           {config: []string{after, "5m"}, author: []string{"security-critical", "w.example.com"}, refusal: `names "w.example.com"`},
		"critical, empty":              {config: []string{after, "5m"}, author: []string{"security-critical", ""}, refusal: `names ""`},
		"a conversion is critical":     {config: []string{after, "5m"}, author: []string{"security-critical", "c.example.com"}, refusal: `names "c.example.com"`},
		"matchConditions":              {config: []string{after, "5m"}, author: []string{"match-conditions", `{"v.example.com": [{"name": "a", "expression": "true"}]}`}, opens: "m", refusal: "does not include webhook v.example.com"},
		"matchConditions and named":    {config: []string{after, "5m", "fail-open-webhooks", "v.example.com"}, author: []string{"match-conditions", `{"v.example.com": [{"name": "a", "expression": "true"}]}`}, opens: "v"},
		"invalid matchConditions":      {config: []string{after, "5m"}, author: []string{"match-conditions", "{"}, refusal: "does not include webhook v.example.com"},
		"the author allows it":         {config: []string{}, author: []string{after, "5m"}},
		"the author allows more":       {config: []string{after, "5m", "fail-open-webhooks", "v.example.com"}, author: []string{"fail-open-webhooks", "m.example.com", "fail-open-all-after", "5m"}, opens: "v"},
		"the author overrides himself": {config: []string{after, "5m"}, author: []string{"security-critical", "*", "fail-open-security-critical", "true"}},
	} {
		t.Run(name, func(t *testing.T) {
			csv := shopWithWebhooks()
			csv.Annotations = settingsOf(test.author...)
			config := Config{Subscription: "shop"}
			config.Annotations = settingsOf(test.config...)
			installtest.Same(t, "webhooks that may open", test.opens, opening(csv, config))
			installtest.Says(t, "the refusals", test.refusal, strings.Join(config.Refusals(csv), "; "))
		})
	}
}

func TestFailOpenWithoutSubscription(t *testing.T) {
	csv := shopWithWebhooks()
	csv.Annotations = settingsOf("fail-open-after", "5m", "fail-open-webhooks", "v.example.com")
	installtest.Same(t, "webhooks that may open", "v", opening(csv, Config{}))
	csv.Annotations[wellknown.AnnotationFailOpenSecurityCritical] = "true"
	installtest.Same(t, "webhooks that may open by an override on the ClusterServiceVersion", "", opening(csv, Config{}))
	installtest.Says(t, "the refusals", "ClusterServiceVersion shop.v1: metadata.annotations, olm-webhook-manager.io/fail-open-security-critical has an effect in the config of a Subscription only",
		strings.Join(Config{}.Refusals(csv), "; "))
}

// The annotations of a bundle have no effect after its Subscription is deleted.
func TestFailOpenWithADeletedSubscription(t *testing.T) {
	csv := shopWithWebhooks()
	csv.Labels = map[string]string{wellknown.LabelComponentPrefix + "shop.shop": ""}
	installtest.Same(t, "refusals without annotations", 0, len(Config{}.Refusals(csv)))
	csv.Annotations = settingsOf("fail-open-after", "5m")
	installtest.Same(t, "webhooks that may open", "", opening(csv, Config{}))
	installtest.Says(t, "the refusals", "the Subscription of the ClusterServiceVersion was deleted. Create it again", strings.Join(Config{}.Refusals(csv), "; "))
}

// With a second Subscription, it is not clear what the administrator allows.
func TestFailOpenWithTwoSubscriptions(t *testing.T) {
	csv := shopWithWebhooks()
	config := Config{Subscription: "a", AlsoNaming: []string{"b"}}
	config.Annotations = settingsOf("fail-open-after", "5m")
	installtest.Same(t, "webhooks that may open", "", opening(csv, config))
	installtest.Says(t, "the refusals", "because Subscriptions b name the ClusterServiceVersion, too", strings.Join(config.Refusals(csv), "; "))
	installtest.Same(t, "refusals without the annotations", 0, len(Config{Subscription: "a", AlsoNaming: []string{"b"}}.Refusals(csv)))
}

func TestFailOpenSettings(t *testing.T) {
	csv, config := shopWithWebhooks(), Config{Subscription: "shop"}
	config.Annotations = settingsOf("fail-open-after", "2m", "fail-open-all-after", "10m",
		"fail-open-webhooks", "m.example.com/deployments.apps, m.example.com/pods, m.example.com/pods, v.example.com/pods, v.example.com")
	allowed := config.FailOpen(csv).ByWebhook
	installtest.Same(t, "m", FailOpen{After: 2 * time.Minute, AllAfter: 10 * time.Minute, For: time.Hour,
		Resources: []schema.GroupResource{{Group: "apps", Resource: "deployments"}, {Resource: "pods"}}}, allowed[csvspec.IdentityOf(csv.Spec.WebhookDefinitions[1])])
	installtest.Same(t, "v", FailOpen{After: 2 * time.Minute, AllAfter: 10 * time.Minute, For: time.Hour}, allowed[csvspec.IdentityOf(csv.Spec.WebhookDefinitions[0])])
	installtest.Same(t, "annotations for objects", 0, len(config.Propagated()))
}

func TestAlsoNaming(t *testing.T) {
	all := []*operatorsv1alpha1.Subscription{subscription("b", "shop.v1", ""), subscription("a", "", "shop.v1"), subscription("c", "shop.v0", "")}
	csv := csvVersion("shop.v1", "shop.v0")
	in := Lister{
		Naming: func(name string) (naming []*operatorsv1alpha1.Subscription) {
			for _, s := range all {
				if strings.Contains(strings.Join(CSVNames(s), " "), name) {
					naming = append(naming, s)
				}
			}
			return naming
		},
		Named:     func(string) *operatorsv1alpha1.ClusterServiceVersion { return nil },
		Replacing: func(string) []*operatorsv1alpha1.ClusterServiceVersion { return nil },
	}
	installtest.Same(t, "the Subscription", "b", Find(csv, in).Name)
	installtest.Same(t, "the others", []string{"a", "c"}, AlsoNaming(csv, in))
}
