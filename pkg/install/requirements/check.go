// Package requirements checks whether a ClusterServiceVersion may be installed.
package requirements

import (
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/csvstatus"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/permissions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

// Facts are what the check of a ClusterServiceVersion looks at besides itself.
type Facts struct {
	CSV *operatorsv1alpha1.ClusterServiceVersion
	// ServiceAccounts are those of the ClusterServiceVersion's namespace, by name.
	ServiceAccounts map[string]*corev1.ServiceAccount
	// CRDs are those that exist, by name.
	CRDs map[string]*apiextensionsv1.CustomResourceDefinition
	// Targets are the namespaces that the OperatorGroup targets; [""] is all.
	Targets []string
	// Access is what the ServiceAccounts may do.
	Access permissions.Access
	// APIServices are those that exist, by name.
	APIServices map[string]*apiregistrationv1.APIService
	// NoAggregator is a cluster that cannot have any: nothing tells when a kind comes.
	NoAggregator bool
	// APIs are the kinds that the cluster serves.
	APIs map[schema.GroupVersionKind]bool
	// Undiscovered are the versions of groups of which the API server has not answered which kinds it serves.
	Undiscovered map[schema.GroupVersion]bool
	// Announced is when a change last announced what a version of a group serves.
	Announced map[schema.GroupVersion]time.Time
	// Now is the time of the check.
	Now time.Time
	// Kubernetes is the version of the API server, as it says itself; empty when it has not answered.
	Kubernetes string
	// Neighbours are the other operators of the namespace that own something of the same
	// name; Began tells whether this one has been installed.
	Neighbours []scope.Claimant
	Began      bool
	// Contenders are other operators of the namespace that name one of the same Deployments, each with
	// whether it has begun to install itself; Active is whether this version has.
	Contenders []scope.Claimant
	Active     bool
	// Deployments are the live ones, by name.
	Deployments map[string]*appsv1.Deployment
	// FinalizerProblem says why the ClusterServiceVersion does not have the manager's finalizer; empty when it does.
	FinalizerProblem string
	// Converters are the Services of other ClusterServiceVersions, as namespace/name.
	Converters map[string]bool
	// ConvertedByOthers are the definitions, by name, whose conversion another client has set up.
	ConvertedByOthers map[string]bool
}

// Verdict says whether a ClusterServiceVersion may be installed.
type Verdict struct {
	// Violations are mistakes that only a change of the ClusterServiceVersion mends.
	Violations []Violation
	// Conflict says what another operator of the namespace owns with the better right;
	// empty when there is nothing.
	Conflict string
	// Requirements are the results for status.requirementStatus.
	Requirements []operatorsv1alpha1.RequirementStatus
	// ClaimedDeployments are the Deployments that another ClusterServiceVersion has, each with its name.
	ClaimedDeployments map[string]string
	// Awaited are versions of definitions, as definition/version, that are served once the
	// webhooks of the ClusterServiceVersion convert to them. It is not complete before.
	Awaited []string
	// RequeueAfter is how soon to look again of one's own accord: no event tells when what is
	// missing comes. Zero: there is one.
	RequeueAfter time.Duration
}

// Check judges a ClusterServiceVersion.
func Check(f Facts) Verdict {
	claimed := claimedDeployments(f)
	return Verdict{
		ClaimedDeployments:       claimed,
		Violations: slices.Concat(RuleViolations(f.CSV), widthViolations(f.CSV), conversionViolations(f.CSV), conditionViolations(f.CSV)),
		Requirements: slices.Concat(
			finalized(f),
			requiredKubernetes(f),
			requiredCRDs(f), convertibleCRDs(f),
			requiredAPIServices(f), registrable(f), nativeAPIs(f),
			distinctDeployments(f.CSV), freeDeployments(f.CSV, claimed), requiredBackends(f.CSV),
			requiredAccounts(f)),
		Conflict: ownerConflict(f),
		Awaited:  awaitedVersions(f),
		RequeueAfter:  requeueAfter(f),
	}
}

// Passes tells whether nothing speaks against the installation.
func (v Verdict) Passes() bool { return v.Mistakes() == "" && v.Unmet() == "" && v.Conflict == "" }

// Mistakes are the violations in one text; empty when there are none.
func (v Verdict) Mistakes() string {
	var all []string
	for _, violation := range v.Violations {
		all = append(all, violation.String())
	}
	return strings.Join(all, "; ")
}

// Unmet are the causes of all requirements that are not met; empty when all are.
func (v Verdict) Unmet() string {
	var all []string
	for _, r := range v.Requirements {
		if !csvstatus.Met(r) {
			all = append(all, fmt.Sprintf("%s %s: %s", r.Kind, r.Name, r.Message))
		}
	}
	return strings.Join(all, "; ")
}

// distinctDeployments returns a requirement that is not met for each name that several Deployments have.
// OLM v0 makes each of them in turn into the other, for ever.
func distinctDeployments(csv *operatorsv1alpha1.ClusterServiceVersion) []operatorsv1alpha1.RequirementStatus {
	places := map[string][]string{}
	for i, spec := range csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
		places[spec.Name] = append(places[spec.Name], fmt.Sprintf("[%d]", i))
	}
	var results []operatorsv1alpha1.RequirementStatus
	for _, name := range csvspec.DeploymentNames(csv) {
		if len(places[name]) == 1 {
			continue
		}
		results = append(results, operatorsv1alpha1.RequirementStatus{
			Group: "apps", Version: "v1", Kind: "Deployment", Name: name,
			Status:  operatorsv1alpha1.RequirementStatusReasonPresentNotSatisfied,
			Message: fmt.Sprintf("spec.install.spec.deployments%s have the name %q: give each its own", few(places[name], ", "), name),
		})
	}
	return results
}

// requiredBackends are the Deployments that the webhooks name. OLM v0 does not
// look, and registers a webhook that nobody will ever serve.
func requiredBackends(csv *operatorsv1alpha1.ClusterServiceVersion) []operatorsv1alpha1.RequirementStatus {
	known := csvspec.DeploymentNames(csv)
	listed := map[string]bool{}
	for _, name := range known {
		listed[name] = true
	}
	var results []operatorsv1alpha1.RequirementStatus
	for i, d := range csv.Spec.WebhookDefinitions {
		if listed[d.DeploymentName] {
			continue
		}
		results = append(results, operatorsv1alpha1.RequirementStatus{
			Group: "apps", Version: "v1", Kind: "Deployment", Name: d.DeploymentName,
			Status: operatorsv1alpha1.RequirementStatusReasonNotPresent,
			Message: fmt.Sprintf("webhook %q names a Deployment that the ClusterServiceVersion does not have: set spec.webhookdefinitions[%d].deploymentName to one of %s",
				d.GenerateName, i, few(known, ", ")),
		})
	}
	return results
}
