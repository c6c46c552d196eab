package certificates

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmclient"
)

// rollouts are what the manager reports of a ClusterServiceVersion.
type rollouts struct {
	own *managerv1alpha1.WebhookRollout // nil if there is none
	// inNamespace are all of the namespace. They are read if there are no certificates in own.
	inNamespace []managerv1alpha1.WebhookRollout
}

func rolloutsOf(ctx context.Context, client *olmclient.Client, of types.NamespacedName) (rollouts, error) {
	own, err := client.WebhookRollouts(of.Namespace).Get(ctx, of.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return rollouts{}, nil
	case err != nil:
		return rollouts{}, fmt.Errorf("WebhookRollout %s: %w", of, err)
	case hasCertificates(*own):
		return rollouts{own: own}, nil
	}
	list, err := client.WebhookRollouts(of.Namespace).List(ctx, metav1.ListOptions{})
	if apierrors.IsForbidden(err) { // The refusal names no other version then.
		return rollouts{own: own}, nil
	}
	if err != nil {
		return rollouts{}, fmt.Errorf("WebhookRollouts of namespace %s: %w", of.Namespace, err)
	}
	return rollouts{own: own, inNamespace: list.Items}, nil
}

// hasCertificates reports whether the manager decides about certificates: only then does it read the order.
func hasCertificates(rollout managerv1alpha1.WebhookRollout) bool {
	return slices.ContainsFunc(rollout.Status.Deployments, func(d managerv1alpha1.DeploymentStatus) bool { return d.Certificate != nil })
}

// ignored returns why no manager would carry out a request; empty if a manager would.
func ignored(csv *operatorsv1alpha1.ClusterServiceVersion, known rollouts, compromised bool) string {
	switch {
	case csv.IsCopied():
		return fmt.Sprintf("it is a copy, which managers ignore: rotate the certificates of the original, with -n %s", csv.Labels[operatorsv1alpha1.CopiedLabelKey])
	case !csvspec.HasRegistrations(csv):
		return "it declares no webhooks and owns no APIServices: it has no serving certificates"
	case known.own == nil:
		return fmt.Sprintf("no manager has reconciled it, since it has no WebhookRollout: check that a manager is installed and running (kubectl get deployments -A -l app.kubernetes.io/name=olm-webhook-manager), "+
			"and that its --namespaces, if set, include %s; then run the same command again", csv.Namespace)
	case !hasCertificates(*known.own):
		return "no manager would carry out the request, since it has no serving certificates now" + known.why() + ": " + known.instead(compromised)
	case known.own.Status.Provider == managerv1alpha1.ProviderNone:
		return "the administrator manages its certificates (provider none): " + remedy(compromised)
	default:
		return ""
	}
}

// why returns what the manager reports about a ClusterServiceVersion that is not ready.
func (r rollouts) why() string {
	ready := meta.FindStatusCondition(r.own.Status.Conditions, managerv1alpha1.ConditionReady)
	if ready == nil || ready.Status == metav1.ConditionTrue {
		return ""
	}
	return fmt.Sprintf(" (%s: %s)", ready.Reason, ready.Message)
}

// instead names the version whose webhooks are called: one that this version replaces, or one that has replaced it.
func (r rollouts) instead(compromised bool) string {
	serving := lists.First(r.inNamespace, func(other managerv1alpha1.WebhookRollout) bool {
		return hasCertificates(other) && (replaces(*r.own, other) || replaces(other, *r.own))
	})
	if serving.Name == "" {
		return fmt.Sprintf("run the same command again when kubectl webhooks certificates -n %s lists it", r.own.Namespace)
	}
	command := fmt.Sprintf("kubectl webhooks certificates rotate %s -n %s", serving.Name, serving.Namespace)
	if compromised {
		command += " --compromised"
	}
	return fmt.Sprintf("rotate the certificates of ClusterServiceVersion %s/%s, which has the webhooks: %s", serving.Namespace, serving.Name, command)
}

func replaces(newer, older managerv1alpha1.WebhookRollout) bool {
	return newer.Status.Upgrade != nil && slices.Contains(newer.Status.Upgrade.From, older.Name)
}

func remedy(compromised bool) string {
	again := ""
	where := "replace them where they are created"
	if compromised {
		where = "replace them where they are created, under another CA, and remove the old one from what is injected as caBundle, which makes calls fail until pods serve the new certificate"
		again = ", and request the rotation again when kubectl webhooks certificates shows PROVIDER manager"
	}
	return fmt.Sprintf("%s; or have the manager issue them, with %s: %s in spec.config.annotations of the Subscription%s",
		where, wellknown.AnnotationCertificateProvider, managerv1alpha1.ProviderManager, again)
}
