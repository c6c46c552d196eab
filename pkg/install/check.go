package install

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// Facts are what the check of a ClusterServiceVersion looks at besides itself.
type Facts struct {
	CSV *operatorsv1alpha1.ClusterServiceVersion
	// ServiceAccounts are those of the ClusterServiceVersion's namespace, by name.
	ServiceAccounts map[string]*corev1.ServiceAccount
	// CRDs are those that exist, by name.
	CRDs map[string]*apiextensionsv1.CustomResourceDefinition
	// Converters are the Services of other ClusterServiceVersions, as namespace/name.
	Converters map[string]bool
}

// Verdict says whether a ClusterServiceVersion may be installed.
type Verdict struct {
	// Violations are mistakes that only a change of the ClusterServiceVersion mends.
	Violations []Violation
	// Requirements are the results for status.requirementStatus.
	Requirements []operatorsv1alpha1.RequirementStatus
}

// Check judges a ClusterServiceVersion.
func Check(f Facts) Verdict {
	return Verdict{
		Violations:   slices.Concat(RuleViolations(f.CSV), conversionViolations(f.CSV), conditionViolations(f.CSV)),
		Requirements: slices.Concat(requiredAccounts(f), distinctDeployments(f.CSV), requiredBackends(f.CSV), convertibleCRDs(f)),
	}
}

// Passes tells whether nothing speaks against the installation.
func (v Verdict) Passes() bool { return v.Mistakes() == "" && v.Unmet() == "" }

// Mistakes are the violations in one text; empty when there are none.
func (v Verdict) Mistakes() string {
	var all []string
	for _, violation := range v.Violations {
		all = append(all, violation.Message)
	}
	return strings.Join(all, "; ")
}

// Unmet are the causes of all requirements that are not met; empty when all are.
func (v Verdict) Unmet() string {
	var all []string
	for _, r := range v.Requirements {
		if r.Status != operatorsv1alpha1.RequirementStatusReasonPresent {
			all = append(all, fmt.Sprintf("%s %s: %s", r.Kind, r.Name, r.Message))
		}
	}
	return strings.Join(all, "; ")
}

// requiredAccounts are the ServiceAccounts that the permissions speak of. The
// installer creates them; the manager only looks.
func requiredAccounts(f Facts) []operatorsv1alpha1.RequirementStatus {
	strategy := f.CSV.Spec.InstallStrategy.StrategySpec
	var results []operatorsv1alpha1.RequirementStatus
	seen := map[string]bool{}
	for _, permissions := range slices.Concat(strategy.Permissions, strategy.ClusterPermissions) {
		name := permissions.ServiceAccountName
		if seen[name] {
			continue
		}
		seen[name] = true
		results = append(results, requiredAccount(f, name))
	}
	return results
}

func requiredAccount(f Facts, name string) operatorsv1alpha1.RequirementStatus {
	result := operatorsv1alpha1.RequirementStatus{Version: "v1", Kind: "ServiceAccount", Name: name}
	account := f.ServiceAccounts[name]
	switch {
	case account == nil:
		result.Status = operatorsv1alpha1.RequirementStatusReasonNotPresent
		result.Message = fmt.Sprintf("Service account does not exist: create it, with the permissions that spec.install.spec asks for, in namespace %s", f.CSV.Namespace)
	case ownedByAnotherCSV(account, f.CSV):
		result.Status = operatorsv1alpha1.RequirementStatusReasonPresentNotSatisfied
		result.Message = "Service account is owned by another ClusterServiceVersion"
	default:
		result.Status = operatorsv1alpha1.RequirementStatusReasonPresent
		result.UUID = string(account.UID)
	}
	return result
}

func ownedByAnotherCSV(account *corev1.ServiceAccount, csv *operatorsv1alpha1.ClusterServiceVersion) bool {
	others := 0
	for _, owner := range account.OwnerReferences {
		if owner.Kind != operatorsv1alpha1.ClusterServiceVersionKind {
			continue
		}
		if owner.Name == csv.Name {
			return false
		}
		others++
	}
	return others > 0
}

// distinctDeployments are those of which there would have to be two of one name. OLM v0
// makes each of them in turn into the other, for ever.
func distinctDeployments(csv *operatorsv1alpha1.ClusterServiceVersion) []operatorsv1alpha1.RequirementStatus {
	var results []operatorsv1alpha1.RequirementStatus
	first := map[string]int{}
	for i, spec := range csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
		earlier, repeated := first[spec.Name]
		if !repeated {
			first[spec.Name] = i
			continue
		}
		results = append(results, operatorsv1alpha1.RequirementStatus{
			Group: "apps", Version: "v1", Kind: "Deployment", Name: spec.Name,
			Status:  operatorsv1alpha1.RequirementStatusReasonPresentNotSatisfied,
			Message: fmt.Sprintf("spec.install.spec.deployments[%d] and [%d] both have the name %q: give each its own", earlier, i, spec.Name),
		})
	}
	return results
}

// requiredBackends are the Deployments that the webhooks name. OLM v0 does not
// look, and registers a webhook that nobody will ever serve.
func requiredBackends(csv *operatorsv1alpha1.ClusterServiceVersion) []operatorsv1alpha1.RequirementStatus {
	var known []string
	for _, spec := range csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
		known = append(known, spec.Name)
	}
	var results []operatorsv1alpha1.RequirementStatus
	for i, d := range csv.Spec.WebhookDefinitions {
		if slices.Contains(known, d.DeploymentName) {
			continue
		}
		results = append(results, operatorsv1alpha1.RequirementStatus{
			Group: "apps", Version: "v1", Kind: "Deployment", Name: d.DeploymentName,
			Status: operatorsv1alpha1.RequirementStatusReasonNotPresent,
			Message: fmt.Sprintf("webhook %q names a Deployment that the ClusterServiceVersion does not have: set spec.webhookdefinitions[%d].deploymentName to one of %s",
				d.GenerateName, i, strings.Join(known, ", ")),
		})
	}
	return results
}
