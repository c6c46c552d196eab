package kube

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	clusterpkg "github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cluster"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/output"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/status"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// A cluster without OLM's kinds and the manager's is read as any other, and the reader
// gets a note. This package's API server is the one that has none of them.
func TestClustersWithoutTheKinds(t *testing.T) {
	if cluster.server == nil {
		t.Skip("the cluster of KUBECONFIG may well have them")
	}
	abandoned(t, "v.abandoned.example.com")
	for name, config := range map[string]*rest.Config{"an administrator": cluster.Config(), "who may read nothing of OLM": readerOfWebhooks(t)} {
		t.Run(name, func(t *testing.T) {
			c, err := clusterpkg.New(config)
			must(t, err)
			facts, err := c.Examine(t.Context(), true)
			must(t, err)
			if found := doctor.Diagnose(facts, time.Now()); len(found) != 1 || found[0].Code != "ServiceMissing" || !facts.NoCSVs {
				t.Errorf("doctor finds %+v, and takes the kinds for missing: %t", found, facts.NoCSVs)
			}

			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			seen := errors.New("seen")
			err = c.Watch(ctx, metav1.NamespaceAll, time.Minute, func(ctx context.Context) error {
				all, err := c.Status(ctx, metav1.NamespaceAll)
				if err != nil {
					return err
				}
				var printed strings.Builder
				status.Of(all, metav1.NamespaceAll, time.Now()).Print(output.New(&printed), false, time.Now())
				installtest.Contains(t, printed.String(), "does not know the kind ClusterServiceVersion", "v.abandoned.example.com")
				return seen
			})
			if !errors.Is(err, seen) {
				t.Errorf("status: %v", err)
			}
		})
	}
}

// abandoned registers a webhook whose Service is nowhere, for objects that no client writes.
func abandoned(t *testing.T, name string) {
	t.Helper()
	all := newClient(t, cluster.Config()).AdmissionregistrationV1().ValidatingWebhookConfigurations()
	Create(t, all, &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: name, SideEffects: ptr.To(admissionregistrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
			ClientConfig: admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{Namespace: "nowhere", Name: "missing"}},
			Rules:        []admissionregistrationv1.RuleWithOperations{installtest.RuleOf([]string{"abandoned.example.com"}, []string{"things"})},
		}},
	})
	t.Cleanup(func() {
		if err := all.Delete(context.WithoutCancel(t.Context()), name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
}

// readerOfWebhooks is a user of a cluster whose roles name no kind that it does not have.
func readerOfWebhooks(t *testing.T) *rest.Config {
	t.Helper()
	client, read := newClient(t, cluster.Config()), []string{"get", "list", "watch"}
	meta := metav1.ObjectMeta{Name: "reader-of-webhooks"}
	_, err := client.RbacV1().ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "discovery.k8s.io"}, Resources: []string{"*"}, Verbs: read},
		{APIGroups: []string{""}, Resources: []string{"namespaces", "pods", "services"}, Verbs: read},
	}}, metav1.CreateOptions{})
	must(t, err)
	Create(t, client.RbacV1().ClusterRoleBindings(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: meta.Name}},
	})
	config := cluster.Config()
	config.Impersonate = rest.ImpersonationConfig{UserName: meta.Name, Groups: []string{"system:authenticated"}}
	reader := newClient(t, config)
	err = wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		_, err := reader.AdmissionregistrationV1().ValidatingWebhookConfigurations().List(ctx, metav1.ListOptions{})
		return !apierrors.IsForbidden(err), nil
	})
	if err != nil {
		t.Fatalf("the reader may still not read: %v", err)
	}
	return config
}
