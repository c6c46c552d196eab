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
	"k8s.io/apimachinery/pkg/util/sets"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/csvstatus"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/permissions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

// Facts are the inputs of the check of a CSV.
type Facts struct {
	CSV             *operatorsv1alpha1.ClusterServiceVersion
	ServiceAccounts map[string]*corev1.ServiceAccount
	CRDs            map[string]*apiextensionsv1.CustomResourceDefinition
	// Targets are the namespaces that the OperatorGroup targets; [""] is all.
	Targets []string
	Access  permissions.Access
	// Unlisted are the Roles that are not lifted because no InstallPlan lists them, by ServiceAccount.
	Unlisted    map[string][]string
	APIServices map[string]*apiregistrationv1.APIService
	// NoAggregator is set if the cluster has no APIServices. No event then announces a new kind.
	NoAggregator bool
	APIs         map[schema.GroupVersionKind]bool
	// Undiscovered are the versions of groups whose discovery request was not answered.
	Undiscovered map[schema.GroupVersion]bool
	// Announced is the time of the last change that affects the kinds of a version.
	Announced map[schema.GroupVersion]time.Time
	Now       time.Time
	// Kubernetes is the version of the API server. It is empty if the API server has not answered.
	Kubernetes string
	// Neighbours are operators of the namespace that own the same CRD or APIService. Began is when this CSV began.
	Neighbours []scope.Claimant
	Began      bool
	// Contenders are operators of the namespace with the same Deployment. Active is set if this version is active.
	Contenders  []scope.Claimant
	Active      bool
	Deployments map[string]*appsv1.Deployment
	// FinalizerProblem is why the CSV does not have the finalizer of the manager, or "".
	FinalizerProblem string
	// Converters are the Services of other CSVs, as namespace/name.
	Converters map[string]bool
	// ConvertedByOthers are the CRDs whose conversion belongs to another client.
	ConvertedByOthers map[string]bool
}

// Verdict is the result of a check.
type Verdict struct {
	// Violations make the CSV invalid. Only a change of the CSV ends them.
	Violations []Violation
	// Conflict describes what another operator of the namespace already owns, or is "".
	Conflict     string
	Requirements []operatorsv1alpha1.RequirementStatus
	// ClaimedDeployments are the Deployments that belong to another CSV, with its name.
	ClaimedDeployments map[string]string
	// Awaited are versions, as crd/version, that the installer serves after the webhooks convert to them.
	Awaited []string
	// Held are versions, as crd/version, that the manager serves then.
	Held []string
	// RequeueAfter is when to check again if no event announces the missing object, otherwise zero.
	RequeueAfter time.Duration
}

// Check checks a CSV.
func Check(f Facts) Verdict {
	claimed := claimedDeployments(f)
	return Verdict{
		ClaimedDeployments: claimed,
		Violations:         slices.Concat(ruleViolations(f.CSV), limitViolations(f.CSV), conversionViolations(f.CSV), conditionViolations(f.CSV)),
		Requirements: slices.Concat(
			finalized(f),
			requiredKubernetes(f),
			CRDs(f, csvspec.CRDDescriptions(f.CSV)), convertibleCRDs(f),
			requiredAPIServices(f), registrable(f), nativeAPIs(f),
			distinctDeployments(f.CSV), unclaimedDeployments(f.CSV, claimed), requiredBackends(f.CSV),
			requiredAccounts(f)),
		Conflict:     ownerConflict(f),
		Awaited:      versionsThatAre(announced, f),
		Held:         versionsThatAre(held, f),
		RequeueAfter: requeueAfter(f),
	}
}

// Passes reports whether the CSV may be installed.
func (v Verdict) Passes() bool { return v.Invalid() == "" && v.Unmet() == "" && v.Conflict == "" }

// Invalid returns the violations as one text.
func (v Verdict) Invalid() string {
	return strings.Join(lists.Map(v.Violations, Violation.String), "; ")
}

// Unmet returns the causes of all unmet requirements as one text.
func (v Verdict) Unmet() string {
	return strings.Join(lists.FilterMap(v.Requirements, func(r operatorsv1alpha1.RequirementStatus) (string, bool) {
		return fmt.Sprintf("%s %s: %s", r.Kind, r.Name, r.Message), !csvstatus.Met(r)
	}), "; ")
}

// OLM v0 would update the Deployment from one to the other without end.
func distinctDeployments(csv *operatorsv1alpha1.ClusterServiceVersion) []operatorsv1alpha1.RequirementStatus {
	places := map[string][]string{}
	for i, spec := range csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
		places[spec.Name] = append(places[spec.Name], fmt.Sprintf("[%d]", i))
	}
	return lists.FilterMap(csvspec.DeploymentNames(csv), func(name string) (operatorsv1alpha1.RequirementStatus, bool) {
		message := fmt.Sprintf("spec.install.spec.deployments%s have the name %q: give each its own", few(places[name], ", "), name)
		return unmetDeployment(name, operatorsv1alpha1.RequirementStatusReasonPresentNotSatisfied, message), len(places[name]) > 1
	})
}

func unmetDeployment(name string, status operatorsv1alpha1.StatusReason, message string) operatorsv1alpha1.RequirementStatus {
	return operatorsv1alpha1.RequirementStatus{Group: "apps", Version: "v1", Kind: "Deployment", Name: name, Status: status, Message: message}
}

// OLM v0 registers such a webhook without a server.
func requiredBackends(csv *operatorsv1alpha1.ClusterServiceVersion) []operatorsv1alpha1.RequirementStatus {
	deployments := csvspec.DeploymentNames(csv)
	exists := sets.New(deployments...)
	var results []operatorsv1alpha1.RequirementStatus
	for i, d := range csv.Spec.WebhookDefinitions {
		if exists.Has(d.DeploymentName) {
			continue
		}
		results = append(results, unmetDeployment(d.DeploymentName, operatorsv1alpha1.RequirementStatusReasonNotPresent,
			fmt.Sprintf("webhook %q names a Deployment that the ClusterServiceVersion does not have: set spec.webhookdefinitions[%d].deploymentName to one of %s",
				d.GenerateName, i, few(deployments, ", "))))
	}
	return results
}
