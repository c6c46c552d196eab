package bundle

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestMaliceIsRefused(t *testing.T) {
	const malice = "../../pkg/cli/bundle/testdata/malice"
	e := newEnv(t)
	b, err := bundle.Inspect(malice)
	must(t, err)
	_, err = bundle.Manifests(b, bundle.Options{})
	var refused *bundle.RefusedError
	if !errors.As(err, &refused) {
		t.Fatal(err)
	}
	before := e.existing(t, refused.Manifests)
	for _, flags := range [][]string{
		nil,
		{"--allow-kind=MutatingWebhookConfiguration.admissionregistration.k8s.io,ValidatingAdmissionPolicy.admissionregistration.k8s.io,APIService.apiregistration.k8s.io,OperatorGroup.operators.coreos.com,Namespace"},
		{"--dry-run=server"},
	} {
		out, err := webhooks(t, append([]string{"bundle", "install", malice, "--yes"}, flags...)...).CombinedOutput()
		installtest.Same(t, fmt.Sprintf("%v: it is refused", flags), true, err != nil)
		installtest.Contains(t, string(out), "Group system:authenticated", "all.evil.example.com", "system-cluster-critical",
			"ClusterRole.rbac.authorization.k8s.io   view", "nothing was changed: the bundle has objects that are refused")
	}
	installtest.Same(t, "objects of the bundle that exist", before, e.existing(t, refused.Manifests))
}

// With every kind allowed, each dangerous object is shown before the question, and nothing is written before the answer.
func TestMaliceIsShownBeforeTheQuestion(t *testing.T) {
	e := newEnv(t)
	dir := allowedMalice(t)
	b := installtest.OrPanic(bundle.Inspect(dir))
	var kinds, adopted []string
	for _, kind := range b.KindsToAllow() {
		kinds = append(kinds, kind.String())
	}
	allowed := []string{"bundle", "install", dir, "--allow-kind=" + strings.Join(kinds, ",")}
	for _, reference := range []string{"ClusterRole.rbac.authorization.k8s.io/view", "ClusterRole.rbac.authorization.k8s.io/edit", "APIService.apiregistration.k8s.io/v1.apps"} {
		adopted = append(adopted, "--adopt", reference)
	}
	manifests := installtest.OrPanic(bundle.Manifests(b, bundle.Options{AllowKinds: b.KindsToAllow()}))
	before := e.existing(t, manifests)
	for question, flags := range map[string][]string{
		"Overwrite ":                         nil,
		"Install it in namespace dangerous?": adopted,
	} {
		cmd := webhooks(t, append(slices.Clone(allowed), flags...)...)
		cmd.Stdin = strings.NewReader("n\n")
		out, err := cmd.CombinedOutput()
		shown, _, asked := strings.Cut(string(out), question)
		if err == nil || !asked {
			t.Errorf("%v, and %q is not asked:\n%s", err, question, out)
			continue
		}
		installtest.Contains(t, shown,
			"failurePolcy",
			"pods.evil.example.com (MutatingWebhookConfiguration evil, calls https://evil.example.com/)",
			"ValidatingAdmissionPolicy evil",
			"all requests for apps/v1",
			"calls Service dangerous/shop, whose certificate is not verified",
			"CustomResourceDefinition certificates.cert-manager.io, calls https://evil.example.com/convert",
			"Group system:authenticated",
			"ClusterRole cluster-admin",
			"Group system:unauthenticated",
			"all who have ClusterRole view",
			"*.*",
			"dangerous/other-operator",
			"ClusterRole unbound",
			"hostPID, hostNetwork, privileged, capability SYS_ADMIN, hostPath /",
			"with labels pod-security.kubernetes.io/enforce=privileged",
			"dangerous/token, a token of ServiceAccount dangerous/other-operator",
			"everything, value 1, globalDefault",
			"dangerous/dns, externalIPs 10.96.0.10",
		)
		for _, o := range manifests {
			generated := strings.HasPrefix(o.GetName(), b.CSV.Name+"-") // the permissions of the ClusterServiceVersion, shown by account
			if !generated && !strings.Contains(shown, o.GetName()) {
				t.Errorf("%s %s is not named before %q", o.GetKind(), o.GetName(), question)
			}
		}
	}
	installtest.Same(t, "objects of the bundle that exist", before, e.existing(t, manifests))
}

// allowedMalice returns a copy of the fixture without what no flag allows and what no API server accepts.
func allowedMalice(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	must(t, os.CopyFS(dir, os.DirFS("../../pkg/cli/bundle/testdata/malice")))
	for _, file := range []string{"group", "namespace", "subscription", "account", "foreigngroup"} {
		must(t, os.Remove(filepath.Join(dir, "manifests", file+".yaml")))
	}
	for file, changes := range map[string][]string{
		"csv":        {`"name": "shop"`, `"name": "dangerous"`, "  replaces: shop.v1.0.0\n", ""},
		"apiservice": {"namespace: shop", "namespace: dangerous"},
		"priority":   {"system-cluster-critical", "everything"},
		"webhooks": {
			`"evil\n\nWebhooks: none"`, "evil", "all.evil", "pods.evil",
			`apiGroups: ["*"], apiVersions: ["*"], resources: ["*"]`, `apiGroups: [""], apiVersions: ["v1"], resources: [pods]`,
		},
	} {
		path := filepath.Join(dir, "manifests", file+".yaml")
		text := installtest.OrPanic(os.ReadFile(path))
		changed := strings.NewReplacer(changes...).Replace(string(text))
		must(t, os.WriteFile(path, []byte(changed), 0o600))
	}
	return dir
}

// existing returns the objects that exist, with their resourceVersions. A few have names of the cluster's own.
func (e *env) existing(t *testing.T, manifests []*unstructured.Unstructured) []string {
	t.Helper()
	var names []string
	for _, o := range manifests {
		resource, err := e.resource(o)
		if meta.IsNoMatchError(err) {
			continue
		}
		must(t, err)
		if live, err := resource.Get(t.Context(), o.GetName(), metav1.GetOptions{}); err == nil {
			names = append(names, o.GetKind()+" "+o.GetName()+" "+live.GetResourceVersion())
		}
	}
	return names
}
