package takeover

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
)

// Progress is what a report needs to know about the plan.
type Progress struct {
	// Deployments are the states of the Deployments in the plan.
	Deployments []managerv1alpha1.DeploymentStatus
	// Writes is set if the plan writes something.
	Writes bool
	// Refused are the reasons why the API server refuses writes, by object.
	Refused map[string]string
}

// Report returns the status of a takeover; nil if there is no order and no Deployment has olm-operator's form.
func (in Input) Report(p Progress) *managerv1alpha1.TakeoverStatus {
	switch order := csvspec.TakeoverOrder(in.CSV); order {
	case wellknown.TakeoverGiveBack, wellknown.TakeoverGivenBack:
		return in.reportReturn(p)
	default:
		return in.reportConvergence(order, p)
	}
}

// Ended returns the report of a ClusterServiceVersion with the order given-back, from the previous report; nil without one.
// The order changes no object, so it does not change the form.
func Ended(previous *managerv1alpha1.TakeoverStatus) *managerv1alpha1.TakeoverStatus {
	if previous == nil {
		return nil
	}
	ended := previous.DeepCopy()
	if ended.Form != managerv1alpha1.TakeoverGivenBack {
		ended.Message = fmt.Sprintf("the label %s is %s, and the objects are not given back: set it to %s, or run kubectl webhooks takeover undo",
			wellknown.LabelTakeover, wellknown.TakeoverGivenBack, wellknown.TakeoverGiveBack)
	}
	return ended
}

// NotCompared returns the report of a ClusterServiceVersion with an order while its objects are not compared with the desired
// ones, from the previous report. Nothing is given back meanwhile, and nothing that was given back changes. With the order to
// adopt it again, the report of an earlier return ends.
func NotCompared(csv *operatorsv1alpha1.ClusterServiceVersion, previous *managerv1alpha1.TakeoverStatus) *managerv1alpha1.TakeoverStatus {
	returned := previous != nil && previous.Form == managerv1alpha1.TakeoverGivenBack
	ordered := csvspec.TakeoverOrder(csv) == wellknown.TakeoverGiveBack
	switch {
	case ordered == returned:
		return previous
	case returned:
		return nil
	}
	return &managerv1alpha1.TakeoverStatus{
		Form:    managerv1alpha1.TakeoverGivingBack,
		Message: fmt.Sprintf("nothing is given back while the ClusterServiceVersion is %s: %s", csv.Status.Phase, csv.Status.Message),
	}
}

func (in Input) reportConvergence(order string, p Progress) *managerv1alpha1.TakeoverStatus {
	status := &managerv1alpha1.TakeoverStatus{Form: managerv1alpha1.TakeoverConverged}
	for _, spec := range csvspec.Deployments(in.CSV) {
		if live := in.Deployments[spec.Name]; live != nil && isOLMs(live) {
			status.Deployments = append(status.Deployments, spec.Name)
		}
	}
	unavailable := p.unavailable()
	switch {
	case len(status.Deployments) == 0 && order == "":
		return nil
	case len(status.Deployments) > 0 && order == wellknown.TakeoverHeld:
		status.Form = managerv1alpha1.TakeoverAdopted
	case len(status.Deployments) > 0:
		status.Form = managerv1alpha1.TakeoverConverging
	case len(unavailable) > 0:
		status.Form, status.Deployments = managerv1alpha1.TakeoverConverging, unavailable
		status.Message = "waits until these Deployments are available"
	}
	return status
}

// isOLMs reports whether olm-operator made a Deployment. Admission may remove the manager's label from the pods.
func isOLMs(live *appsv1.Deployment) bool {
	_, written := live.Annotations[wellknown.AnnotationReplicas]
	return !written && live.Spec.Template.Labels[wellknown.LabelCSV] == ""
}

func (in Input) reportReturn(p Progress) *managerv1alpha1.TakeoverStatus {
	status := &managerv1alpha1.TakeoverStatus{Form: managerv1alpha1.TakeoverGivingBack}
	var waits []string
	for _, spec := range csvspec.Deployments(in.CSV) {
		if why := in.notGivenBack(spec); why != "" {
			status.Deployments = append(status.Deployments, spec.Name)
			waits = append(waits, fmt.Sprintf("Deployment %s/%s %s", in.CSV.Namespace, spec.Name, why))
		}
	}
	unavailable := p.unavailable()
	status.Deployments = append(status.Deployments, slices.DeleteFunc(unavailable, func(name string) bool { return slices.Contains(status.Deployments, name) })...)
	switch {
	case len(waits) > 0:
		status.Message = strings.Join(waits, "; ")
	case len(status.Deployments) > 0:
		status.Message = "waits until these Deployments are available"
	case len(p.Refused) > 0:
		status.Message = "the API server refuses writes; status.deployments and the conditions report why"
	case p.Writes:
		status.Message = "objects are being written"
	case in.CSV.Status.Phase != operatorsv1alpha1.CSVPhaseSucceeded:
		status.Message = fmt.Sprintf("waits until the ClusterServiceVersion is Succeeded: its phase is %s", in.CSV.Status.Phase)
	default:
		status.Form = managerv1alpha1.TakeoverGivenBack
	}
	return status
}

// notGivenBack returns why olm-operator would change a Deployment or its certificate; empty if it would not.
func (in Input) notGivenBack(spec operatorsv1alpha1.StrategyDeploymentSpec) string {
	live, certificate := in.Deployments[spec.Name], in.Certificates[spec.Name]
	switch {
	case live == nil:
		return "does not exist"
	case certificate.Provider != "" && certificate.Provider != managerv1alpha1.ProviderManager:
		return fmt.Sprintf("has a certificate of %s, which olm-operator replaces: remove the annotation %s from the Subscription first",
			certificate.Provider, wellknown.AnnotationCertificateProvider)
	case len(csvspec.Descriptions(in.CSV, spec.Name)) > 0 && in.Input.Services[spec.Name] != names.Service(spec.Name):
		return fmt.Sprintf("is served by Service %s, and olm-operator creates Service %s: another client has that name", in.Input.Services[spec.Name], names.Service(spec.Name))
	case !in.Settled(spec.Name):
		return fmt.Sprintf("waits for the rotation of its certificate, which is in phase %s", certificate.Phase)
	case live.Labels[wellknown.LabelDeploymentHash] != in.expected(spec).Labels[wellknown.LabelDeploymentHash] || in.restarts(spec, live):
		return "is being changed"
	default:
		return ""
	}
}

func (p Progress) unavailable() []string {
	var waiting []string
	for _, d := range p.Deployments {
		if d.State != managerv1alpha1.DeploymentAvailable {
			waiting = append(waiting, d.Name)
		}
	}
	return waiting
}
