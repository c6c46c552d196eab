package lint

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-framework/api/pkg/manifests"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/csvstatus"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/exemptions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/requirements"
)

type mistake struct {
	object *bundle.Object // nil for the bundle as a whole
	file   string         // where object is nil
	line   int            // likewise
	path   string
	what   string // what will happen
	remedy string
	level  Level // where it is not the check's
}

// subject is a bundle with what several checks need, computed once. Checks do not change it.
type subject struct {
	*bundle.Bundle
	facts     requirements.Facts
	verdict   requirements.Verdict
	library   *manifests.Bundle
	described []webhook // in the order of the ClusterServiceVersion
	admitting []webhook
	deployed  []deployment
	serving   map[string]bool // the Deployments that serve webhooks or APIServices
	ownGroups map[string]bool // the API groups of its definitions, without those of Kubernetes
	deadlocks func(operatorsv1alpha1.WebhookDescription) []exemptions.Exemption
}

func (s *subject) inCSV(path, what, remedy string) mistake {
	return mistake{object: s.CSVObject, path: path, what: what, remedy: remedy}
}

type webhook struct {
	operatorsv1alpha1.WebhookDescription
	path string
}

type deployment struct {
	operatorsv1alpha1.StrategyDeploymentSpec
	path string
}

func (s *subject) webhooks() []webhook { return s.described }

func (s *subject) admission() []webhook { return s.admitting }

func (s *subject) deployments() []deployment { return s.deployed }

func (s *subject) backend(w webhook) (deployment, bool) {
	all := s.deployments()
	i := slices.IndexFunc(all, func(d deployment) bool { return d.Name == w.DeploymentName })
	if i < 0 {
		return deployment{}, false
	}
	return all[i], true
}

// serves reports whether the pods of a Deployment have the manager's certificate.
func (s *subject) serves(d deployment) bool { return s.serving[d.Name] }

func (s *subject) index() {
	s.ownGroups = map[string]bool{}
	for _, crd := range s.CRDs() {
		s.ownGroups[crd.Spec.Group] = strings.Contains(crd.Spec.Group, ".") && !strings.HasSuffix(crd.Spec.Group, ".k8s.io")
	}
	s.serving = map[string]bool{}
	for _, d := range s.CSV.Spec.APIServiceDefinitions.Owned {
		s.serving[d.DeploymentName] = true
	}
	for i, d := range s.CSV.Spec.WebhookDefinitions {
		w := webhook{d, fmt.Sprintf("spec.webhookdefinitions[%d]", i)}
		s.described = append(s.described, w)
		s.serving[d.DeploymentName] = true
		if d.Type != operatorsv1alpha1.ConversionWebhook {
			s.admitting = append(s.admitting, w)
		}
	}
	for i, d := range s.CSV.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
		s.deployed = append(s.deployed, deployment{d, fmt.Sprintf("spec.install.spec.deployments[%d]", i)})
	}
}

func eachWebhook(which func(*subject) []webhook, check func(webhook) (field, what, remedy string)) func(*subject) []mistake {
	return func(s *subject) []mistake {
		var all []mistake
		for _, w := range which(s) {
			if field, what, remedy := check(w); what != "" {
				all = append(all, s.inCSV(strings.TrimSuffix(w.path+"."+field, "."), what, remedy))
			}
		}
		return all
	}
}

func eachDeployment(check func(*subject, deployment) (field, what, remedy string)) func(*subject) []mistake {
	return func(s *subject) []mistake {
		var all []mistake
		for _, d := range s.deployments() {
			if field, what, remedy := check(s, d); what != "" {
				all = append(all, s.inCSV(d.path+"."+field, what, remedy))
			}
		}
		return all
	}
}

func violationsOf(kind requirements.ViolationKind, field string) func(*subject) []mistake {
	return func(s *subject) []mistake {
		var all []mistake
		for _, v := range s.verdict.Violations {
			if v.Kind == kind {
				all = append(all, s.inCSV(fmt.Sprintf("spec.webhookdefinitions[%d].%s", v.Webhook, field), invalidDescription(v), v.WayOut))
			}
		}
		return all
	}
}

func invalidDescription(v requirements.Violation) string {
	return "the ClusterServiceVersion is Failed/InvalidWebhookDescription: " + v.Message
}

// unmet calls place for the requirements of a kind. Its path is empty for what another bundle has to bring.
func unmet(s *subject, kind string, place func(name string) (path, remedy string)) []mistake {
	var all []mistake
	for _, r := range s.verdict.Requirements {
		if path, remedy := place(r.Name); r.Kind == kind && path != "" && !csvstatus.Met(r) {
			all = append(all, s.inCSV(path, pending(r), remedy))
		}
	}
	return all
}

func pending(r operatorsv1alpha1.RequirementStatus) string {
	return fmt.Sprintf("the ClusterServiceVersion stays Pending/RequirementsNotMet: %s %s: %s", r.Kind, r.Name, r.Message)
}

// accountsOf are the ServiceAccounts that there are once the bundle is installed.
func accountsOf(b *bundle.Bundle) map[string]*corev1.ServiceAccount {
	accounts := map[string]*corev1.ServiceAccount{}
	for _, a := range bundle.Accounts(b.CSV) {
		accounts[a.Name] = &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: a.Name}}
	}
	for _, a := range bundle.OfType[*corev1.ServiceAccount](b) {
		accounts[a.Name] = a
	}
	return accounts
}

func definitionsOf(b *bundle.Bundle) map[string]*apiextensionsv1.CustomResourceDefinition {
	definitions := map[string]*apiextensionsv1.CustomResourceDefinition{}
	for _, crd := range b.CRDs() {
		definitions[crd.Name] = crd
	}
	return definitions
}
