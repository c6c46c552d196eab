package lint

import (
	"fmt"
	"slices"
	"strconv"
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

// subject is a bundle with what several checks need, computed once. A check adds only what it finds.
type subject struct {
	*bundle.Bundle
	found       []Finding // by the present check
	facts       requirements.Facts
	verdict     requirements.Verdict
	library     *manifests.Bundle
	described   []webhook // in the order of the ClusterServiceVersion
	admitting   []webhook
	deployments []deployment
	definitions map[string]*apiextensionsv1.CustomResourceDefinition
	accounts    map[string]*corev1.ServiceAccount                                 // that exist once the bundle is installed
	serving     map[string]bool                                                   // the Deployments whose pods have the manager's certificate
	ownGroups   map[string]bool                                                   // the API groups of its definitions, without those of Kubernetes
	exempted    func(operatorsv1alpha1.WebhookDescription) []exemptions.Exemption // nil without admission webhooks
}

func (s *subject) report(o *bundle.Object, path, what, remedy string) {
	s.reportAt("", o, path, what, remedy)
}

func (s *subject) reportCSV(path, what, remedy string) { s.report(s.CSVObject, path, what, remedy) }

// reportAt reports a mistake whose level is not the check's.
func (s *subject) reportAt(level Level, o *bundle.Object, path, what, remedy string) {
	s.found = append(s.found, Finding{object: o, Path: path, What: what, Remedy: remedy, Level: level})
}

type webhook struct {
	operatorsv1alpha1.WebhookDescription
	path    string
	backend *deployment // nil if the ClusterServiceVersion does not have it
}

type deployment struct {
	operatorsv1alpha1.StrategyDeploymentSpec
	path string
}

func (s *subject) webhooks() []webhook { return s.described }

func (s *subject) admission() []webhook { return s.admitting }

func (s *subject) index() {
	s.definitions, s.ownGroups = map[string]*apiextensionsv1.CustomResourceDefinition{}, map[string]bool{}
	for _, crd := range s.CRDs() {
		s.definitions[crd.Name] = crd
		s.ownGroups[crd.Spec.Group] = strings.Contains(crd.Spec.Group, ".") && !strings.HasSuffix(crd.Spec.Group, ".k8s.io")
	}
	s.accounts = map[string]*corev1.ServiceAccount{}
	for _, a := range bundle.Accounts(s.CSV) {
		s.accounts[a.Name] = &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: a.Name}}
	}
	for _, a := range bundle.Each[*corev1.ServiceAccount](s.Bundle) {
		s.accounts[a.Name] = a
	}
	s.indexWebhooks()
	if len(s.admitting) > 0 {
		installed := s.CSV.DeepCopy()
		installed.Namespace = s.SuggestedNamespace()
		s.exempted = exemptions.ForWidestScope(installed)
	}
}

func (s *subject) indexWebhooks() {
	s.serving = map[string]bool{}
	for _, d := range s.CSV.Spec.APIServiceDefinitions.Owned {
		s.serving[d.DeploymentName] = true
	}
	for i, d := range s.CSV.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
		s.deployments = append(s.deployments, deployment{d, fmt.Sprintf("spec.install.spec.deployments[%d]", i)})
	}
	for i, d := range s.CSV.Spec.WebhookDefinitions {
		w := webhook{WebhookDescription: d, path: fmt.Sprintf("spec.webhookdefinitions[%d]", i)}
		if j := slices.IndexFunc(s.deployments, func(b deployment) bool { return b.Name == d.DeploymentName }); j >= 0 {
			w.backend = &s.deployments[j]
		}
		s.described = append(s.described, w)
		s.serving[d.DeploymentName] = true
		if d.Type != operatorsv1alpha1.ConversionWebhook {
			s.admitting = append(s.admitting, w)
		}
	}
}

// reporter reports a mistake in a field; empty for the object around it.
type reporter func(field, what, remedy string)

func (s *subject) below(path string) reporter {
	return func(field, what, remedy string) { s.reportCSV(strings.TrimSuffix(path+"."+field, "."), what, remedy) }
}

func eachWebhook(which func(*subject) []webhook, check func(webhook, reporter)) func(*subject) {
	return func(s *subject) {
		for _, w := range which(s) {
			check(w, s.below(w.path))
		}
	}
}

func eachDeployment(check func(*subject, deployment, reporter)) func(*subject) {
	return func(s *subject) {
		for _, d := range s.deployments {
			check(s, d, s.below(d.path))
		}
	}
}

// violationsOf reports the violations of a kind. The path may have the verb %d for the index of the webhook.
func violationsOf(kind requirements.ViolationKind, path string) func(*subject) {
	return func(s *subject) {
		for _, v := range s.verdict.Violations {
			if v.Kind == kind {
				s.reportCSV(strings.ReplaceAll(path, "%d", strconv.Itoa(v.Webhook)), "the ClusterServiceVersion is Failed/InvalidWebhookDescription: "+v.Message, v.WayOut)
			}
		}
	}
}

// unmet calls place for the requirements of a kind. Its path is empty for what another bundle has to bring.
func unmet(s *subject, kind string, place func(name string) (path, remedy string)) {
	for _, r := range s.verdict.Requirements {
		if path, remedy := place(r.Name); r.Kind == kind && path != "" && !csvstatus.Met(r) {
			s.reportCSV(path, pending(r), remedy)
		}
	}
}

func pending(r operatorsv1alpha1.RequirementStatus) string {
	return fmt.Sprintf("the ClusterServiceVersion stays Pending/RequirementsNotMet: %s %s: %s", r.Kind, r.Name, r.Message)
}
