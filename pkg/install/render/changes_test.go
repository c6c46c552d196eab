package render

import (
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// What a new version of an operator means for a webhook of the old one, which is behind
// the Deployment "server". There is a Deployment "other" too.
func TestChanges(t *testing.T) {
	type description = operatorsv1alpha1.WebhookDescription
	on := func(deployment string) func(*description) {
		return func(d *description) { d.DeploymentName = deployment }
	}
	named := func(name string) func(*description) { return func(d *description) { d.GenerateName = name } }
	path := func(p string) func(*description) { return func(d *description) { d.WebhookPath = &p } }
	target := func(port int) func(*description) {
		return func(d *description) { d.TargetPort = new(intstr.FromInt(port)) }
	}
	mutating := func(d *description) { d.Type = operatorsv1alpha1.MutatingAdmissionWebhook }
	conversion := func(d *description) {
		d.Type, d.Rules, d.ConversionCRDs = operatorsv1alpha1.ConversionWebhook, nil, []string{"things.example.com"}
	}
	explicit := func(d *description) {
		fail, equivalent, all := admissionregistrationv1.Fail, admissionregistrationv1.Equivalent, admissionregistrationv1.AllScopes
		d.FailurePolicy, d.MatchPolicy, d.Rules[0].Scope = &fail, &equivalent, &all
		d.TimeoutSeconds, d.ContainerPort = new(int32(10)), 443
	}
	tests := map[string]struct {
		both, before, after []func(*description)
		dropped             bool     // the new version has no webhook at all
		deployments         []string // of the new version; server and other
		first               []description
		want                Change
	}{
		"nothing":                            {want: Same},
		"defaults are written out":           {after: []func(*description){explicit}, want: Same},
		"another path":                       {after: []func(*description){path("/other")}, want: Changed},
		"another target port":                {after: []func(*description){target(8443)}, want: Changed},
		"another timeout":                    {after: []func(*description){func(d *description) { d.TimeoutSeconds = new(int32(3)) }}, want: Changed},
		"another rule":                       {after: []func(*description){func(d *description) { d.Rules = append(d.Rules, d.Rules[0]) }}, want: Changed},
		"another webhook takes its port":     {both: []func(*description){target(8443)}, first: []description{installtest.ServedBy("server", named("first"), target(9443))}, want: Changed},
		"another webhook next to it":         {first: []description{installtest.ServedBy("server", named("first"))}, want: Same},
		"another name":                       {after: []func(*description){named("v2.shop.example.com")}, want: Removed},
		"another type":                       {after: []func(*description){mutating}, want: Removed},
		"dropped":                            {dropped: true, want: Removed},
		"dropped with its Deployment":        {dropped: true, deployments: []string{"other"}, want: Removed},
		"a renamed Deployment":               {after: []func(*description){on("other")}, deployments: []string{"other"}, want: Moved},
		"a renamed Deployment and path":      {after: []func(*description){on("other"), path("/other")}, deployments: []string{"other"}, want: Moved},
		"another Deployment, this one stays": {after: []func(*description){on("other")}, want: Changed},
		"conversion":                         {both: []func(*description){conversion}, want: Same},
		"conversion on another path":         {both: []func(*description){conversion}, after: []func(*description){path("/other")}, want: Moved},
		"conversion of another Deployment":   {both: []func(*description){conversion}, after: []func(*description){on("other")}, want: Moved},
		"conversion dropped":                 {both: []func(*description){conversion}, dropped: true, want: Removed},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			webhook := func(more []func(*description)) description {
				return installtest.ServedBy("server", append(test.both, more...)...)
			}
			before := webhook(test.before)
			older := installtest.Operator(installtest.Deployments(installtest.DeploymentOf("server"), installtest.DeploymentOf("other")), before)
			specs := installtest.Deployments(installtest.DeploymentOf("server"), installtest.DeploymentOf("other"))
			if test.deployments != nil {
				specs = lists.Map(test.deployments, func(d string) operatorsv1alpha1.StrategyDeploymentSpec { return installtest.DeploymentOf(d) })
			}
			newer := installtest.Operator(specs, test.first...)
			if !test.dropped {
				newer.Spec.WebhookDefinitions = append(newer.Spec.WebhookDefinitions, webhook(test.after))
			}
			changes := Changes(older, newer)
			installtest.Same(t, "changes", map[csvspec.Identity]Change{csvspec.IdentityOf(before): test.want}, changes)
		})
	}
}
