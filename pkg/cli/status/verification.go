package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/csvstatus"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
)

var kinds = map[operatorsv1alpha1.WebhookAdmissionType]string{
	operatorsv1alpha1.ValidatingAdmissionWebhook: doctor.Validating,
	operatorsv1alpha1.MutatingAdmissionWebhook:   doctor.Mutating,
	operatorsv1alpha1.ConversionWebhook:          doctor.Conversion,
	managerv1alpha1.APIServiceType:               doctor.APIService,
}

// registration is an object that makes API servers call a webhook; webhook is nil if it does not exist.
type registration struct {
	kind, name string
	webhook    *doctor.Webhook
}

// registrations are the objects by which a WebhookRollout reports that a webhook is registered.
func registrations(w managerv1alpha1.WebhookStatus, f doctor.Facts) []registration {
	names := w.CRDs
	if w.Type != operatorsv1alpha1.ConversionWebhook {
		names = []string{w.Configuration}
	}
	var all []registration
	for _, name := range names {
		one := registration{kind: kinds[w.Type], name: name}
		if i := slices.IndexFunc(f.Webhooks, func(is doctor.Webhook) bool { return is.Kind == one.kind && is.Object == name }); i >= 0 {
			one.webhook = &f.Webhooks[i]
		}
		all = append(all, one)
	}
	return all
}

func (w *Webhook) check(all []registration, f doctor.Facts, now time.Time) {
	for _, r := range all {
		if r.webhook == nil {
			w.State, w.Reason, w.Problem = string(managerv1alpha1.WebhookWaiting), "NotRegistered", strings.TrimSpace(fmt.Sprintf("%s %s no longer registers it", r.kind, r.name))
			return
		}
		if reach := doctor.ReachOf(*r.webhook, f, now); reach.Broken() {
			w.State, w.Reason, w.Problem = string(managerv1alpha1.WebhookUnreachable), reach.Code, reach.Message
			return
		}
		if code, doubt := doctor.Doubt(*r.webhook, f); doubt != "" {
			w.State, w.Reason, w.Problem = "Unknown", code, doubt
			return
		}
	}
}

// unreported returns webhooks that no WebhookRollout lists: another manager, or not processed yet.
func unreported(csv operatorsv1alpha1.ClusterServiceVersion, reported []Webhook, f Facts, now time.Time) []Webhook {
	if csv.IsCopied() || csv.Status.Phase == operatorsv1alpha1.CSVPhaseReplacing || csv.Status.Phase == operatorsv1alpha1.CSVPhaseDeleting {
		return nil // the one that it is a copy of, or that replaces it, has them
	}
	var all []Webhook
	for _, d := range append(lists.Map(csv.Spec.APIServiceDefinitions.Owned, csvspec.DescribeAPIService), csv.Spec.WebhookDefinitions...) {
		one := Webhook{Namespace: csv.Namespace, CSV: csv.Name, Name: d.GenerateName, Type: typeOf(d.Type), Deployment: d.DeploymentName}
		if slices.ContainsFunc(reported, one.isSame) || d.Type == managerv1alpha1.APIServiceType && slices.ContainsFunc(all, one.isSame) {
			continue
		}
		one.State, one.Reason = string(managerv1alpha1.WebhookWaiting), cmp.Or(string(csv.Status.Reason), "NotReconciled")
		one.Problem = notRegistered(csv)
		if f.RegistrationsUnread != "" && csv.Status.Phase == operatorsv1alpha1.CSVPhaseSucceeded {
			one.State, one.Reason, one.Problem = "Unknown", "Unseen", "no WebhookRollout reports it, and its registration may not be read"
		}
		if by := registrationsOf(csv, d, f.Facts); len(by) > 0 {
			one.State, one.Reason, one.Problem, one.Registration = string(managerv1alpha1.WebhookRegistered), "", "", namesOf(by)
			one.check(by, f.Facts, now)
		}
		all = append(all, one)
	}
	return all
}

func (w Webhook) isSame(as Webhook) bool {
	return w.Namespace == as.Namespace && w.CSV == as.CSV && w.Name == as.Name && w.Type == as.Type
}

func notRegistered(csv operatorsv1alpha1.ClusterServiceVersion) string {
	if csv.Status.Phase == "" {
		return "no manager has reconciled its ClusterServiceVersion yet"
	}
	return fmt.Sprintf("its ClusterServiceVersion is %s: %s", csv.Status.Phase, csvstatus.Explained(csv.Status))
}

// registrationsOf are the objects that register a webhook, regardless of the client that created them.
func registrationsOf(csv operatorsv1alpha1.ClusterServiceVersion, d operatorsv1alpha1.WebhookDescription, f doctor.Facts) []registration {
	var all []registration
	for i, w := range f.Webhooks {
		name := w.Name
		if w.Kind == doctor.APIService {
			name = w.Object
		}
		owned := w.Owner == doctor.OwnerNamed(csv.Namespace, csv.Name) && name == d.GenerateName
		converted := w.Service.Namespace == csv.Namespace && slices.Contains(d.ConversionCRDs, w.Object)
		if w.Kind == kinds[d.Type] && (owned || w.Kind == doctor.Conversion && converted) {
			all = append(all, registration{w.Kind, w.Object, &f.Webhooks[i]})
		}
	}
	return all
}

func namesOf(all []registration) string {
	return strings.Join(lists.Map(all, func(r registration) string { return r.name }), ",")
}
