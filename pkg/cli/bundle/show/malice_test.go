package show

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"unicode"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/output"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// Everything that the fixture tries is shown, the most dangerous first, and no text of it begins a line of its own.
func TestMaliceIsShown(t *testing.T) {
	b := malice(t)
	_, err := bundle.Manifests(b, bundle.Options{})
	var refused *bundle.RefusedError
	if !errors.As(err, &refused) {
		t.Fatalf("it is not refused: %v", err)
	}
	text := notice(b, refused)
	next := text
	for _, want := range []string{
		"Webhooks\n",
		`* *.*   in all namespaces and in the whole cluster and every Namespace   Fail   10s   all.evil.example.com (MutatingWebhookConfiguration evil\n\nWebhooks: none, calls https://evil.example.com/)`,
		"ValidatingAdmissionPolicy evil",
		"all requests for apps/v1",
		"calls Service shop/shop, whose certificate is not verified",
		"converts certificates.cert-manager.io   wherever they are   Fail   certificates.cert-manager.io (CustomResourceDefinition certificates.cert-manager.io, calls https://evil.example.com/convert)",
		`CREATE Namespace`,
		"CREATE pods   in all namespaces, if shop.example.com/opted-in=true   Ignore   1s   pods.shop.example.com",
		"all requests for metrics.k8s.io/v1beta1",
		"Permissions\n",
		"Group system:authenticated   cluster   all of   ClusterRole cluster-admin",
		"Group system:unauthenticated   cluster   all of   ClusterRole edit",
		"shop   cluster   *   *.*",
		"other-operator   their scope   all of   what ServiceAccount shop/other-operator may do, which the bundle does not bring",
		"no account yet (ClusterRole unbound, with labels shop.example.com/collect=true)   where it is bound   create   nodes/proxy",
		"Deployments and other workloads\n",
		"node   other-operator   registry.example.com/node:1   hostPID, hostNetwork, privileged, capability SYS_ADMIN, hostPath /\nshop   shop   registry.example.com:5000/shop   <none>",
		"Definitions\n",
		"certificates.cert-manager.io",
		"Other objects\n",
		"Namespace   shop, with labels pod-security.kubernetes.io/enforce=privileged",
		"Secret   shop/token, a token of ServiceAccount shop/other-operator",
		"PriorityClass.scheduling.k8s.io   system-cluster-critical, value 1, globalDefault",
		"Service   shop/dns, externalIPs 10.96.0.10",
		"ServiceAccount   shop/shop",
		"ServiceAccount.evil.example.com   shop/shop",
		"Refused: manifests/account.yaml",
		"Refused: manifests/webhooks.yaml",
	} {
		_, after, found := strings.Cut(next, want)
		if !found && !strings.Contains(text, want) {
			t.Errorf("%q is not shown:\n%s", want, text)
		}
		if found && strings.HasSuffix(want, "\n") {
			next = after
		}
	}
	if strings.Contains(text, "\nWebhooks: none") || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsGraphic(r) && r != '\n' }) {
		t.Errorf("a text of the bundle is shown raw: %q", text)
	}
	if strings.Contains(text, "all who have ClusterRole view   their scope   get   secrets\n") || !strings.Contains(text, "all who have ClusterRole view   their scope   get   secrets (shop)") {
		t.Errorf("the aggregated role is not shown as it is applied:\n%s", text)
	}
}

// With all its kinds allowed, the forbidden rule and the objects that decide about operators remain refused.
func TestMaliceIsRefusedWhateverIsAllowed(t *testing.T) {
	b := malice(t)
	refusals := b.Refusals(b.KindsToAllow())
	var files []string
	for _, r := range refusals {
		installtest.Same(t, "the kind that can be allowed", schema.GroupKind{}, r.Kind)
		files = append(files, r.Object.File)
	}
	installtest.Same(t, "refused files", "manifests/group.yaml manifests/namespace.yaml manifests/subscription.yaml manifests/webhooks.yaml", strings.Join(files, " "))
}

func malice(t *testing.T) *bundle.Bundle {
	t.Helper()
	b, err := bundle.Inspect("../testdata/malice")
	if err != nil || b.Err() != nil {
		t.Fatal(err, b.Err())
	}
	return b
}

func notice(b *bundle.Bundle, refused *bundle.RefusedError) string {
	var out bytes.Buffer
	Of(b, refused.Manifests, refused.Refusals...).Print(output.New(&out))
	var lines []string
	for line := range strings.Lines(out.String()) {
		cells := lists.Map(strings.Split(strings.TrimSpace(line), "   "), strings.TrimSpace)
		kept := lists.Filter(cells, func(cell string) bool { return cell != "" })
		lines = append(lines, strings.Join(kept, "   "))
	}
	return strings.Join(lines, "\n")
}
