package certificates

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/output"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmclient"
)

// shopAPI is an API server that knows one ClusterServiceVersion, and keeps the orders that it is sent. It refuses those
// that state no resourceVersion, and the first of them with a conflict. With forbidden, it refuses all.
func shopAPI(t *testing.T, status managerv1alpha1.WebhookRolloutStatus, metadata, spec string, forbidden bool, patched func(order string)) *olmclient.Client {
	t.Helper()
	mux := http.NewServeMux()
	const rollouts = "GET /apis/olm-webhook-manager.io/v1alpha1/namespaces/shop/webhookrollouts"
	if status.Provider != "" {
		own := rolloutOf("shop.v1", status)
		mux.HandleFunc(rollouts+"/shop.v1", func(w http.ResponseWriter, _ *http.Request) {
			installtest.Must(t, json.NewEncoder(w).Encode(own))
		})
		mux.HandleFunc(rollouts, func(w http.ResponseWriter, _ *http.Request) {
			all := []managerv1alpha1.WebhookRollout{own, rolloutOf("shop.v0", serving("manager"))}
			installtest.Must(t, json.NewEncoder(w).Encode(managerv1alpha1.WebhookRolloutList{Items: all}))
		})
	}
	const path = " /apis/operators.coreos.com/v1alpha1/namespaces/shop/clusterserviceversions/shop.v1"
	version := 7
	mux.HandleFunc("GET"+path, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion", "metadata": {%s "namespace": "shop", "resourceVersion": "%d", "generation": 1}, "spec": %s}`, metadata, version, spec)
	})
	mux.HandleFunc("PATCH"+path, func(w http.ResponseWriter, r *http.Request) {
		var patch struct {
			Metadata struct {
				Annotations     map[string]string
				ResourceVersion string
			}
		}
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = json.Unmarshal(body, &patch)
		}
		if err != nil {
			t.Error(err)
		}
		if forbidden {
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, `{"apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": "Forbidden", "message": "you may not", "code": 403}`)
			return
		}
		known, dryRun := strconv.Itoa(version), r.URL.Query().Has("dryRun")
		if !dryRun {
			version++
		}
		if version == 8 && !dryRun || patch.Metadata.ResourceVersion != known {
			w.WriteHeader(http.StatusConflict)
			fmt.Fprint(w, `{"apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": "Conflict", "code": 409}`)
			return
		}
		if !dryRun {
			patched(patch.Metadata.Annotations[wellknown.AnnotationRotate])
		}
		fmt.Fprint(w, `{"apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion"}`)
	})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return installtest.OrPanic(olmclient.New(&rest.Config{Host: server.URL}))
}

func rolloutOf(name string, status managerv1alpha1.WebhookRolloutStatus) managerv1alpha1.WebhookRollout {
	return managerv1alpha1.WebhookRollout{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, Status: status}
}

// serving is the status of a version for which the manager decides about certificates.
func serving(provider managerv1alpha1.CertificateProvider) managerv1alpha1.WebhookRolloutStatus {
	return managerv1alpha1.WebhookRolloutStatus{Provider: provider, Deployments: []managerv1alpha1.DeploymentStatus{
		{Name: "server", Certificate: &managerv1alpha1.CertificateStatus{Provider: provider}},
	}}
}

// waiting is the status of a version without certificates, because of a condition. It replaces older ones.
func waiting(reason, message string, older ...string) managerv1alpha1.WebhookRolloutStatus {
	status := managerv1alpha1.WebhookRolloutStatus{
		Provider: "manager", Deployments: []managerv1alpha1.DeploymentStatus{{Name: "server"}},
		Conditions: []metav1.Condition{{Type: managerv1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: reason, Message: message}},
	}
	if len(older) > 0 {
		status.Upgrade = &managerv1alpha1.UpgradeStatus{From: older}
	}
	return status
}

// A version without certificates of its own is refused with the cause, and with the version that serves.
func TestIgnored(t *testing.T) {
	upgraded := serving("manager")
	upgraded.Upgrade = &managerv1alpha1.UpgradeStatus{From: []string{"shop.v2"}}
	const (
		none  = "no manager would carry out the request, since it has no serving certificates now"
		later = ": run the same command again when kubectl webhooks certificates -n shop lists it"
	)
	instead := func(name string) string {
		return fmt.Sprintf(": rotate the certificates of ClusterServiceVersion shop/%s, which has the webhooks: kubectl webhooks certificates rotate %[1]s -n shop --compromised", name)
	}
	busy := waiting("OperatorConditionNotUpgradeable", "busy", "shop.v1")
	for name, test := range map[string]struct {
		own    managerv1alpha1.WebhookRolloutStatus
		others map[string]managerv1alpha1.WebhookRolloutStatus
		want   string
	}{
		"it serves": {serving("manager"), nil, ""},
		"its operator is not upgradeable": {
			busy, map[string]managerv1alpha1.WebhookRolloutStatus{"shop.v1": serving("manager")},
			none + " (OperatorConditionNotUpgradeable: busy)" + instead("shop.v1"),
		},
		"it waits behind one that waits": {
			waiting("WaitsForReplaced", "waits for shop.v1", "shop.v1", "shop.v0"),
			map[string]managerv1alpha1.WebhookRolloutStatus{"shop.v0": serving("manager"), "shop.v1": waiting("WaitsForReplaced", "waits for shop.v0", "shop.v0")},
			none + " (WaitsForReplaced: waits for shop.v1)" + instead("shop.v0"),
		},
		"it was replaced": {
			waiting("BeingReplaced", "shop.v3 has adopted its webhooks"),
			map[string]managerv1alpha1.WebhookRolloutStatus{"another.v1": serving("manager"), "shop.v3": upgraded, "shop.v4": waiting("WaitsForReplaced", "waits", "shop.v3", "shop.v2")},
			none + " (BeingReplaced: shop.v3 has adopted its webhooks)" + instead("shop.v3"),
		},
		"the other versions are not known": {busy, nil, none + " (OperatorConditionNotUpgradeable: busy)" + later},
		"its requirements are not met": {
			waiting("RequirementsNotMet", "no CRD"), map[string]managerv1alpha1.WebhookRolloutStatus{"another.v1": serving("manager")},
			none + " (RequirementsNotMet: no CRD)" + later,
		},
		"it has just been created": {managerv1alpha1.WebhookRolloutStatus{}, nil, none + later},
	} {
		t.Run(name, func(t *testing.T) {
			csv := installtest.Operator(nil, operatorsv1alpha1.WebhookDescription{GenerateName: "v.shop.io", Type: operatorsv1alpha1.ValidatingAdmissionWebhook})
			own := rolloutOf("shop.v2", test.own)
			known := rollouts{own: &own, inNamespace: []managerv1alpha1.WebhookRollout{own}}
			for name, status := range test.others {
				known.inNamespace = append(known.inNamespace, rolloutOf(name, status))
			}
			installtest.Same(t, "reason", test.want, ignored(csv, known, true))
		})
	}
}

// The command writes an order in the form that the manager reads, and prints its progress. It prints what fails before it
// writes, and asks. It writes nothing for a ClusterServiceVersion without certificates, or that no manager reconciles.
func TestRotate(t *testing.T) {
	const ordered, loses, stays = "rotation requested; to follow it: kubectl webhooks certificates -n shop\n", "v.shop.io: ", "the CA of cert-manager itself stays trusted"
	const asked = "cert-manager is asked to reissue the certificate; until then, pods serve the previous one\n"
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		provider    managerv1alpha1.CertificateProvider // none for no WebhookRollout
		csv         string
		compromised bool
		waits       bool
		metadata    string
		spec        string // none for a webhook
		forbidden   bool
		answer      error
		order       string
		says, fails []string
	}{
		"no manager has reconciled it": {compromised: true, fails: []string{"ClusterServiceVersion shop/shop.v1: nothing was requested: no manager has reconciled it, since it has no WebhookRollout"}},
		"it waits for its upgrade":     {provider: "manager", waits: true, compromised: true, fails: []string{"ClusterServiceVersion shop/shop.v1: nothing was requested: no manager would carry out the request", "busy", "rotate shop.v0 -n shop --compromised"}},
		"a copy":                       {compromised: true, metadata: `"labels": {"olm.copiedFrom": "mall"}, "annotations": {"olm.operatorNamespace": "mall"},`, fails: []string{"nothing was requested: it is a copy", "with -n mall"}},
		"forbidden":                    {provider: "manager", compromised: true, forbidden: true, fails: []string{"ClusterServiceVersion shop/shop.v1: you may not"}},
		"not confirmed":                {provider: "manager", compromised: true, answer: errors.New("nothing was changed"), fails: []string{"nothing was changed"}},
		"the manager's":                {provider: "manager", order: "2026-03-01T12:00:00Z", says: []string{ordered}},
		"the manager's, compromised":   {provider: "manager", compromised: true, order: "compromised 2026-03-01T12:00:00Z", says: []string{ordered, loses}},
		"cert-manager's":               {provider: "cert-manager", order: "2026-03-01T12:00:00Z", says: []string{ordered, asked}},
		"cert-manager's, compromised":  {provider: "cert-manager", compromised: true, order: "compromised 2026-03-01T12:00:00Z", says: []string{ordered, asked, loses, stays}},
		"the administrator's":          {provider: "none", fails: []string{"nothing was requested", "the administrator manages its certificates", "replace them where they are created; or have the manager issue them, with olm-webhook-manager.io/certificate-provider: manager in spec.config.annotations of the Subscription"}},
		"without webhooks":             {provider: "manager", compromised: true, spec: "{}", fails: []string{"ClusterServiceVersion shop/shop.v1: nothing was requested: it declares no webhooks and owns no APIServices: it has no serving certificates"}},
		"of no ClusterServiceVersion":  {csv: "shop.v2", fails: []string{"ClusterServiceVersion shop/shop.v2"}},
		"the administrator's, at once": {provider: "none", compromised: true, fails: []string{"nothing was requested", "under another CA, and remove the old one from what is injected as caBundle", "have the manager issue them", "and request the rotation again when kubectl webhooks certificates shows PROVIDER manager"}},
	} {
		t.Run(name, func(t *testing.T) {
			var orders []string
			var out strings.Builder
			of := types.NamespacedName{Namespace: "shop", Name: "shop.v1"}
			if test.csv != "" {
				of.Name = test.csv
			}
			spec := cmp.Or(test.spec, `{"webhookdefinitions": [{"generateName": "v.shop.io", "type": "ValidatingAdmissionWebhook"}]}`)
			before, questions := "", 0
			status := serving(test.provider)
			if test.waits {
				status = waiting("OperatorConditionNotUpgradeable", "busy", "shop.v0")
			}
			api := shopAPI(t, status, test.metadata, spec, test.forbidden, func(order string) { orders, before = append(orders, order), out.String() })
			err := rotate(t.Context(), output.New(&out), api, of, test.compromised, func() error {
				questions++
				installtest.Contains(t, out.String(), loses)
				return test.answer
			}, now)
			said, want := out.String(), test.says
			if err != nil {
				said, want = err.Error(), test.fails
			}
			if test.forbidden {
				installtest.Same(t, "output", "", out.String())
			}
			installtest.Same(t, "it asks", test.compromised && test.order != "" || test.answer != nil, questions == 1)
			if (err != nil) != (test.fails != nil) {
				t.Fatalf("it ends with %v and prints %q", err, out.String())
			}
			installtest.Contains(t, said, want...)
			for _, text := range []string{asked, loses, stays} {
				if strings.Contains(said, text) != strings.Contains(strings.Join(want, ""), text) {
					t.Errorf("%q has %q, or lacks it", said, text)
				}
			}
			if n := strings.Count(before, loses); (n == 1) != (test.order != "" && test.compromised) {
				t.Errorf("before the write, what fails was printed %d times: %q", n, before)
			}
			installtest.Same(t, "orders", test.order, strings.Join(orders, ", "))
		})
	}
}

// A user who forgets -n asks for a version that does not exist in the namespace of the kubeconfig.
func TestRotateUnknownVersion(t *testing.T) {
	client := shopAPI(t, serving("manager"), "", "{}", false, nil)
	of := types.NamespacedName{Namespace: "shop", Name: "other.v1"}
	err := rotate(t.Context(), output.New(io.Discard), client, of, false, nil, time.Now())
	installtest.Error(t, "ClusterServiceVersion shop/other.v1: it does not exist: name it and its namespace (-n) as kubectl webhooks certificates -A lists them", err)
}
